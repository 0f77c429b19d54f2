//! What an application wants to say about failures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cogworker_core::args::{self, ArgsError};
use cogworker_core::failure::Failure;
use cogworker_core::job::Job;
use cogworker_core::raw_job::RawJob;

use crate::job_error::INTERRUPTED;

/// A retry farther away than this is most likely a slip in the unit (HOOK-08).
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a [`retry_in`](crate::App::retry_in) hook decides about a failed job that has retries left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RetryIn {
    /// Back-off as usual.
    #[default]
    Default,
    /// Again after exactly so long (HOOK-01).
    After(Duration),
    /// Into dead at once, though retries remain (HOOK-05).
    Kill,
    /// Given up without a trace in retry or dead, and without death hooks (HOOK-06).
    Discard,
}

/// A failed job, as its hooks see it: for death hooks the entry that stands in dead.
#[derive(Debug, Clone)]
pub struct FailedJob {
    raw: Bytes,
}

impl FailedJob {
    pub(crate) fn new(raw: Bytes) -> Self {
        Self { raw }
    }

    /// The job as stored, byte for byte.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The job's id.
    pub fn jid(&self) -> String {
        self.text("jid")
    }

    /// The job's class.
    pub fn class(&self) -> String {
        self.text("class")
    }

    /// The queue it belongs on.
    pub fn queue(&self) -> String {
        self.text("queue")
    }

    /// A top-level field, as stored; `None` when it is missing.
    pub fn field(&self, key: &str) -> Option<String> {
        RawJob::parse(&self.raw).ok()?.field(key).map(|value| value.get().to_owned())
    }

    /// The job with its args read.
    ///
    /// # Errors
    /// When the args are not those of `J`.
    pub fn read<J: Job>(&self) -> Result<J, ArgsError> {
        let job = RawJob::parse(&self.raw);
        args::decode(J::CLASS, job.as_ref().map_or("[]", |job| job.args_json()))
    }

    fn text(&self, key: &str) -> String {
        RawJob::parse(&self.raw).ok().and_then(|job| job.field_as::<String>(key)).unwrap_or_default()
    }
}

/// Decides about a failure: how many attempts had failed before, the failure, the job.
pub(crate) type RetryHook = Arc<dyn Fn(u32, &Failure, &FailedJob) -> RetryIn + Send + Sync>;

/// Hears of a death.
pub(crate) type DeathHook =
    Arc<dyn Fn(FailedJob, Failure) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

pub(crate) fn death_hook<F, Fut>(hook: F) -> DeathHook
where
    F: Fn(FailedJob, Failure) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |job, failure| Box::pin(hook(job, failure)))
}

/// Asks a hook about a failure, whatever it does (HOOK-03, HOOK-04, HOOK-07).
pub(crate) fn ask(hook: &RetryHook, raw: &Bytes, failure: &Failure) -> RetryIn {
    let Ok(job) = RawJob::parse(raw) else { return RetryIn::Default };
    // One that was asked to end goes back, which is no failure.
    if job.is_final_failure() || failure.class == INTERRUPTED {
        return RetryIn::Default;
    }
    let failed = FailedJob::new(raw.clone());
    match crate::panic_guard::contain(|| hook(job.retry_count(), failure, &failed)) {
        Ok(RetryIn::After(delay)) => {
            if delay > FAR {
                tracing::warn!(
                    jid = job.jid(),
                    class = job.class(),
                    "retry_in: again in over a year: {delay:?}"
                );
            }
            RetryIn::After(delay)
        }
        Ok(decision) => decision,
        Err(panic) => {
            tracing::error!(class = job.class(), "retry_in panicked, the default is used: {}", panic.message);
            RetryIn::Default
        }
    }
}
