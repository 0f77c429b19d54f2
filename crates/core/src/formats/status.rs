//! A job's status: what it is doing now, for whoever waits for it.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::time::EpochSeconds;

/// Where a job is in its life, as its status says (STAT-02, STAT-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobState {
    /// It waits on its queue, or until it is due.
    Queued,
    /// It is running.
    Working,
    /// It failed and will be tried again.
    Retrying,
    /// It succeeded.
    Complete,
    /// It failed for good.
    Failed,
    /// The status does not say: only progress was written, or by a newer version.
    Unknown,
}

impl JobState {
    /// As stored; nothing for what is unknown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Working => "working",
            Self::Retrying => "retrying",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Unknown => "",
        }
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Self {
        let known = [Self::Queued, Self::Working, Self::Retrying, Self::Complete, Self::Failed];
        known.into_iter().find(|state| state.name() == name).unwrap_or(Self::Unknown)
    }

    /// True once the job will not run again by itself.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Complete | Self::Failed)
    }
}

/// A job's status (STAT-05). A field that is not written, or not as it should be, is `None`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// Where the job is in its life.
    pub state: JobState,
    /// When the status was last written.
    pub update_time: Option<EpochSeconds>,
    /// The job's class.
    pub class: Option<String>,
    /// Its queue.
    pub queue: Option<String>,
    /// The class of its last error.
    pub error_class: Option<String>,
    /// The message of its last error.
    pub error_message: Option<String>,
    /// How much of it is done, in percent (0 to 100), as it says itself.
    pub pct: Option<f64>,
    /// What it is doing, as it says itself.
    pub message: Option<String>,
    /// What else it stored.
    pub fields: BTreeMap<String, String>,
}

impl Status {
    /// The fields that workers and pushes write; jobs store under other names.
    pub const OWN_FIELDS: &'static [&'static str] =
        &["status", "update_time", "class", "queue", "error_class", "error_message"];

    /// Reads the fields of a status hash; `None` without any.
    #[doc(hidden)]
    pub fn from_fields(fields: Vec<(String, Bytes)>) -> Option<Self> {
        let text = |(name, value): (String, Bytes)| (name, String::from_utf8_lossy(&value).into_owned());
        let mut fields: BTreeMap<String, String> = fields.into_iter().map(text).collect();
        if fields.is_empty() {
            return None;
        }
        let mut number = |name: &str| fields.remove(name).and_then(|text| text.parse::<f64>().ok());
        let (update_time, pct) = (number("update_time").map(EpochSeconds::new), number("pct"));
        Some(Self {
            state: fields.remove("status").map_or(JobState::Unknown, |name| JobState::from_name(&name)),
            update_time,
            class: fields.remove("class"),
            queue: fields.remove("queue"),
            error_class: fields.remove("error_class"),
            error_message: fields.remove("error_message"),
            pct,
            message: fields.remove("message"),
            fields,
        })
    }
}
