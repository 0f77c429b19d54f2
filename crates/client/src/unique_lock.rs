//! Unique locks: who keeps equal jobs from being pushed.

use std::time::Duration;

use cogworker_core::jid::Jid;
use cogworker_core::locks::JobLocks;
use cogworker_core::new_job::{NewJob, NewJobError};
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::Call;
use cogworker_core::time::EpochSeconds;

use crate::{Client, ClientError};

/// A lock whose job was lost some other way ends by itself after so long, as in the gem.
pub(crate) const DEFAULT_LOCK_TTL: Duration = Duration::from_secs(86_400);

impl Client {
    /// How long a unique lock lasts at most, from when its job is due; a day by default. Rounded up to whole
    /// seconds. The workers' `unique_lock_ttl` should be the same.
    #[must_use]
    pub fn with_unique_lock_ttl(mut self, ttl: Duration) -> Self {
        self.settings_mut().unique_lock_ttl = ttl;
        self
    }

    /// The job that keeps `job` from being pushed: an equal one that waits, runs or will be tried again.
    /// `None` when there is none, or `job` is not unique. Takes a `&impl Job` or a [`NewJob`], and
    /// looks at it as it is, before any middleware.
    ///
    /// ```no_run
    /// use cogworker_client::Client;
    /// use cogworker_core::job::Job;
    /// use cogworker_core::options::JobOptions;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Report(u32);
    /// impl Job for Report {
    ///     const CLASS: &'static str = "ReportJob";
    ///     fn options() -> JobOptions {
    ///         JobOptions::new().unique()
    ///     }
    /// }
    ///
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let jid = match client.perform_async(&Report(1)).await? {
    ///     Some(jid) => Some(jid),
    ///     None => client.unique_lock(&Report(1)).await?, // an equal one is under way
    /// };
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the job is not as it must be, or Redis cannot be read.
    pub async fn unique_lock(&self, job: impl Into<NewJob>) -> Result<Option<Jid>, ClientError> {
        let mut job = job.into();
        job.prepare(EpochSeconds::now())?;
        let payload = job.payload(None);
        let raw = RawJob::parse(&payload).map_err(NewJobError::from)?;
        let Some(lock) = JobLocks::of(&raw, self.redis().keys()).unique else { return Ok(None) };
        if let Some(sink) = &self.settings().sink {
            return Ok(sink.owner_of(&lock));
        }
        let owner = self.redis().command("GET", Call::new().key(lock)).await?;
        Ok(owner.optional_text()?.map(Jid::from))
    }
}
