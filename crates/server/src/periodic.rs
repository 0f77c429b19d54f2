//! Jobs that are due again and again.

use std::fmt;

use cogworker_core::cron::{Cron, CronError};
use cogworker_core::digest::periodic_id;
use cogworker_core::formats::periodic_entry_json;
use cogworker_core::job::Job;
use cogworker_core::new_job::{NewJob, NewJobError};
use cogworker_core::options::Retry;

/// Why a periodic entry cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodicError {
    /// Its cron cannot be read.
    #[error("register {class}: {source}")]
    Cron {
        /// The class of its job.
        class: &'static str,
        /// What is wrong, and what to write instead.
        r#source: CronError,
    },
    /// Its job cannot be written.
    #[error("register {class}: failed to {source}")]
    Job {
        /// The class of its job.
        class: &'static str,
        /// Why not.
        r#source: NewJobError,
    },
}

/// An entry of an application's schedule: a job, and when it is due.
///
/// However many processes register it, each time it is due one job is pushed (TICK-19). Entries are
/// the same when their cron, class and args are (PENT-01).
///
/// ```
/// # use cogworker_core::job::Job;
/// use cogworker_server::{App, Periodic};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Cleanup();
/// # impl Job for Cleanup { const CLASS: &'static str = "CleanupJob"; }
/// # async fn clean_up(_: Cleanup) {}
///
/// let app = App::new(())
///     .job(clean_up)
///     .periodic(Periodic::cron("0 3 * * * Europe/Berlin", &Cleanup()).until_executed());
/// ```
#[derive(Debug, Clone)]
pub struct Periodic {
    class: &'static str,
    cron: Result<Cron, CronError>,
    job: NewJob,
    retry: Retry,
    until_executed: bool,
}

impl Periodic {
    /// `job` at each time that `cron` names; without a time zone in it, in UTC. Its jobs are not
    /// retried unless [`retry`](Self::retry) says so (PENT-08).
    ///
    /// A cron that cannot be read is reported when the worker starts.
    pub fn cron<J: Job>(cron: &str, job: &J) -> Self {
        Self {
            class: J::CLASS,
            cron: Cron::parse(cron),
            job: NewJob::of(job),
            retry: Retry::Times(0),
            until_executed: false,
        }
    }

    /// How often a failing run is tried again.
    #[must_use]
    pub fn retry(mut self, retry: impl Into<Retry>) -> Self {
        self.retry = retry.into();
        self
    }

    /// No further run until the last one has ended, for good: one that waits for a retry holds the
    /// entry too (RUNLK-03).
    #[must_use]
    pub fn until_executed(mut self) -> Self {
        self.until_executed = true;
        self
    }

    pub(crate) fn into_entry(self) -> Result<Entry, PeriodicError> {
        let class = self.class;
        let refused = |source| PeriodicError::Job { class, source };
        let cron = self.cron.map_err(|source| PeriodicError::Cron { class, source })?;
        let mut job = self.job.retry(self.retry);
        let queue = job.prepare(cogworker_core::time::EpochSeconds::EPOCH).map_err(refused)?.queue;
        // Each run is a job of its own.
        job.remove("jid");
        job.remove("created_at");
        let args = job.field("args").map_or("[]", |args| args.get()).to_owned();
        let retry = job.field("retry").map_or("0", |retry| retry.get()).to_owned();
        let pjid = periodic_id(cron.as_str(), class, &args);
        let published = periodic_entry_json(cron.as_str(), class, &retry, self.until_executed, &args);
        Ok(Entry { pjid, class, cron, job, queue, until_executed: self.until_executed, published })
    }
}

/// A checked entry.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) pjid: String,
    pub(crate) class: &'static str,
    pub(crate) cron: Cron,
    pub(crate) job: NewJob,
    pub(crate) queue: String,
    pub(crate) until_executed: bool,
    /// As others see it.
    pub(crate) published: String,
}

impl Entry {
    /// The job of one slot, as it is pushed.
    pub(crate) fn job_of(&self, slot: i64) -> NewJob {
        self.tie(self.job.clone(), slot)
    }

    /// A job as one of this entry.
    pub(crate) fn tie(&self, job: NewJob, slot: i64) -> NewJob {
        let mut job = job.set("periodic_pjid", &self.pjid).set("periodic_slot", slot);
        if self.until_executed {
            return job.set("periodic_until_executed", true);
        }
        job.remove("periodic_until_executed");
        job
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("pjid", &self.pjid).field("class", &self.class).finish_non_exhaustive()
    }
}

/// The entries of an application, each once.
#[derive(Debug, Default, Clone)]
pub(crate) struct Schedule {
    entries: Vec<Periodic>,
    pub(crate) replace: bool,
}

impl Schedule {
    pub(crate) fn add(&mut self, entry: Periodic) {
        self.entries.push(entry);
    }

    /// Drops what was registered before (PENT-06).
    pub(crate) fn replace(&mut self) {
        self.entries.clear();
        self.replace = true;
    }

    pub(crate) fn into_entries(self) -> Result<Vec<Entry>, PeriodicError> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in self.entries {
            let entry = entry.into_entry()?;
            // The same entry twice is one; the later registration counts.
            entries.retain(|known| known.pjid != entry.pjid);
            entries.push(entry);
        }
        Ok(entries)
    }
}
