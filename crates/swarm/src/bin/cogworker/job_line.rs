//! A stored job, as a line for people or for programs.

use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;
use serde::Serialize;
use serde_json::value::RawValue;

/// A job as it is stored, with its bytes. What is no job says why.
#[derive(Debug, Serialize)]
pub(crate) struct JobRecord<'a> {
    /// Where it is: `queue`, `schedule`, `retry`, `dead`.
    #[serde(rename = "in")]
    place: &'static str,
    /// When it is due, or died.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<EpochSeconds>,
    /// The job, byte for byte but for line breaks between its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a RawValue>,
    /// Why it is no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
    /// What is there in place of a job, with what is no text replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

impl<'a> JobRecord<'a> {
    pub(crate) fn new(place: &'static str, at: Option<EpochSeconds>, raw: &'a [u8]) -> Self {
        let why = match RawJob::parse(raw) {
            Ok(_) => match serde_json::from_slice::<&RawValue>(raw) {
                Ok(job) => return Self { place, at, job: Some(job), damaged: None, raw: None },
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        let raw = String::from_utf8_lossy(raw).into_owned();
        Self { place, at, job: None, damaged: Some(why), raw: Some(raw) }
    }
}

/// The parts of a job that a table shows. Of what is no job, the class says so and the args are what is there.
pub(crate) struct JobCells {
    pub(crate) jid: String,
    pub(crate) class: String,
    pub(crate) queue: String,
    pub(crate) args: String,
    pub(crate) error: String,
    pub(crate) tries: u32,
    pub(crate) enqueued_at: Option<EpochSeconds>,
}

/// A table's cell holds no more of a text: args may be megabytes.
const CELL: usize = 2_000;

impl JobCells {
    pub(crate) fn new(raw: &[u8]) -> Self {
        let Ok(job) = RawJob::parse(raw) else {
            return Self {
                jid: String::new(),
                class: "(damaged)".to_owned(),
                queue: String::new(),
                args: limited(&String::from_utf8_lossy(raw)),
                error: String::new(),
                tries: 0,
                enqueued_at: None,
            };
        };
        let error = match (job.field_as::<String>("error_class"), job.field_as::<String>("error_message")) {
            (Some(class), Some(message)) => format!("{class}: {message}"),
            (class, message) => class.or(message).unwrap_or_default(),
        };
        Self {
            jid: job.jid().to_owned(),
            class: job.class().to_owned(),
            queue: job.queue().unwrap_or_default().to_owned(),
            args: limited(job.args_json()),
            error: limited(&error),
            tries: job.retry_count(),
            enqueued_at: job.enqueued_at(),
        }
    }
}

fn limited(text: &str) -> String {
    match text.char_indices().nth(CELL) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
