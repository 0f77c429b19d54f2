//! The options of a job class.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::new_job::NewJobError;

/// How often a failing job is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// 25 times, the default (OPT-07).
    Default,
    /// Never: the first failure is final.
    Never,
    /// So many times after the first attempt (OPT-09).
    Times(u32),
}

impl From<bool> for Retry {
    fn from(retry: bool) -> Self {
        if retry { Self::Default } else { Self::Never }
    }
}

impl From<u32> for Retry {
    fn from(times: u32) -> Self {
        Self::Times(times)
    }
}

impl Serialize for Retry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Default => serializer.serialize_bool(true),
            Self::Never => serializer.serialize_bool(false),
            Self::Times(times) => serializer.serialize_u32(*times),
        }
    }
}

/// Options that go into each job of a class, in the order given. Keys that Cogworker does not
/// know travel unchanged for your own middleware (PUSH-02).
///
/// ```
/// use cogworker_core::options::JobOptions;
///
/// let options = JobOptions::new().queue("low").retry(5).set("lock_run", "while_executing");
/// ```
#[derive(Debug, Clone, Default)]
pub struct JobOptions {
    fields: Vec<(String, Result<Box<RawValue>, NewJobError>)>,
    limit: Option<Duration>,
}

impl JobOptions {
    /// No options: queue `default`, 25 retries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The queue its jobs go to.
    #[must_use]
    pub fn queue(self, name: &str) -> Self {
        self.set("queue", name)
    }

    /// How often a failing job is tried again: `true` (25 times), `false`, or a number.
    #[must_use]
    pub fn retry(self, retry: impl Into<Retry>) -> Self {
        self.set("retry", retry.into())
    }

    /// Unique until executed: a second job of the same class, queue and args is not pushed until the
    /// first has succeeded or failed for good (UNIQ-01).
    #[must_use]
    pub fn unique(self) -> Self {
        self.set("unique", "until_executed")
    }

    /// How long a run may take: one that takes longer is ended and fails with class `Timeout`. A
    /// blocking run cannot be ended; it is asked to, by its context's `is_cancelled`.
    ///
    /// The worker keeps to it; it is not stored in the job.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The [timeout](Self::timeout), if there is one.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Any other option. A value that has no JSON form is reported when a job is pushed.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Serialize) -> Self {
        let value = serde_json::value::to_raw_value(&value)
            .map_err(|error| NewJobError::Unwritable { field: key.to_owned(), reason: error.to_string() });
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = value,
            None => self.fields.push((key.to_owned(), value)),
        }
        self
    }

    /// The queue, if one was set.
    #[doc(hidden)]
    pub fn queue_name(&self) -> Option<String> {
        let (_, value) = self.fields.iter().find(|(name, _)| name == "queue")?;
        serde_json::from_str(value.as_ref().ok()?.get()).ok()
    }

    pub(crate) fn into_fields(self) -> Vec<(String, Result<Box<RawValue>, NewJobError>)> {
        self.fields
    }
}
