//! A run in the history, as it is read.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::time::EpochSeconds;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunStatus {
    /// Well.
    Success,
    /// With an error.
    Failed,
}

impl RunStatus {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

/// A run that ended (HIST-01, HIST-02). Written as [`RunRecord`](super::RunRecord), or by a Ruby process.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct EndedRun {
    /// The job's id.
    #[serde(default, deserialize_with = "text")]
    pub jid: String,
    /// Its class.
    #[serde(default, deserialize_with = "text")]
    pub class: String,
    /// The queue that it came from.
    #[serde(default, deserialize_with = "text")]
    pub queue: String,
    /// Its args, as stored.
    #[serde(default = "no_args")]
    pub args: Box<RawValue>,
    /// How it ended.
    pub status: RunStatus,
    /// When it began.
    pub started_at: EpochSeconds,
    /// When it ended.
    pub finished_at: EpochSeconds,
    /// The error's class, if it failed.
    #[serde(default)]
    pub error_class: Option<String>,
    /// The error's message, if it failed.
    #[serde(default)]
    pub error_message: Option<String>,
    /// Where the error came from; empty after a success.
    #[serde(default, deserialize_with = "lines")]
    pub backtrace: Vec<String>,
}

impl EndedRun {
    /// Reads a record; `None` when it is none.
    pub fn parse(raw: &[u8]) -> Option<Self> {
        serde_json::from_slice(raw).ok()
    }

    /// How long it took, in whole milliseconds (WEBH-13).
    pub fn duration_ms(&self) -> f64 {
        ((self.finished_at.as_f64() - self.started_at.as_f64()) * 1000.0).round()
    }

    /// `Class: message`; empty after a success (WEBH-13).
    pub fn error(&self) -> String {
        match (&self.error_class, &self.error_message) {
            (Some(class), Some(message)) => format!("{class}: {message}"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => String::new(),
        }
    }
}

fn no_args() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

/// A job may lack what it should have, and its run is history all the same.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::<Vec<String>>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::formats::RunRecord;

    #[test]
    fn what_is_written_is_read_hist_01_hist_02() {
        let failure = Failure::panic("boom", Some("src/a.rs:1"));
        for failure in [None, Some(&failure)] {
            let record = RunRecord {
                jid: "j",
                class: "A",
                queue: "q",
                args_json: "[1.0,123456789012345678901]",
                started_at: EpochSeconds::new(1.5),
                finished_at: EpochSeconds::new(2.0004),
                failure,
            };
            let run = EndedRun::parse(&record.to_json()).unwrap();
            assert_eq!((run.jid.as_str(), run.class.as_str(), run.queue.as_str()), ("j", "A", "q"));
            assert_eq!((run.args.get(), run.duration_ms()), ("[1.0,123456789012345678901]", 500.0));
            assert_eq!(run.status == RunStatus::Failed, failure.is_some());
            assert_eq!(run.error(), failure.map_or("", |_| "Panic: boom"));
            assert_eq!(run.backtrace.len(), usize::from(failure.is_some()));
        }
    }

    #[test]
    fn a_record_may_lack_what_its_job_lacked() {
        let run = EndedRun::parse(
            br#"{"jid":null,"class":null,"args":null,"status":"failed","started_at":1,"finished_at":2,"error_class":"E","backtrace":null}"#,
        )
        .unwrap();
        assert_eq!((run.class.as_str(), run.args.get(), run.error().as_str()), ("", "null", "E"));
        for no_record in ["", "[]", r#"{"status":"odd","started_at":1,"finished_at":2}"#] {
            assert!(EndedRun::parse(no_record.as_bytes()).is_none(), "{no_record}");
        }
    }
}
