//! Runs jobs of an application one by one and without a worker: what `cogworker_testing` is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cogworker_client::Client;
use cogworker_core::failure::Failure;
use cogworker_core::new_job::NewJob;
use cogworker_core::raw_job::RawJob;
use cogworker_core::retry;
use cogworker_core::time::EpochSeconds;

use crate::app::Hooks;
use crate::client_chain::ClientChain;
use crate::hooks::{FailedJob, RetryIn, ask};
use crate::middleware::{JobService, through};
use crate::panic_guard::{Contained, contain};
use crate::periodic::{PeriodicError, Schedule};
use crate::run::{Run, RunScope};

/// An application's chain, hooks and schedule. May change at any time.
#[derive(Clone)]
pub struct Performer {
    chain: JobService,
    client_chain: ClientChain,
    hooks: Hooks,
    schedule: Schedule,
}

/// A failed run.
#[derive(Debug, Clone)]
pub struct Performed {
    /// What went wrong.
    pub failure: Failure,
    /// What a worker would make of it.
    pub fate: Fate,
}

/// What becomes of a failed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is tried again after so long.
    Retry(Duration),
    /// It failed for good.
    Dead,
    /// It is given up without a trace.
    Discarded,
}

/// A periodic job that is due.
#[derive(Debug, Clone)]
pub struct Fired {
    /// When it was due, in seconds since the epoch.
    pub slot: i64,
    /// The job as a worker would push it.
    pub job: NewJob,
}

impl fmt::Debug for Performer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performer").finish_non_exhaustive()
    }
}

impl Performer {
    pub(crate) fn new(
        chain: JobService,
        client_chain: ClientChain,
        hooks: Hooks,
        schedule: Schedule,
    ) -> Self {
        Self { chain, client_chain, hooks, schedule }
    }

    /// A client as the application's worker has it.
    pub fn client(&self, client: Client) -> Client {
        self.client_chain.around(client)
    }

    /// Runs a stored job; its context's client is `client` with the application's client middleware.
    ///
    /// # Errors
    /// When the job fails.
    pub async fn perform(&self, client: Client, raw: &Bytes) -> Result<(), Performed> {
        let chain = self.chain.clone();
        let run = detached_run(self.client(client), raw);
        let result = match contain(|| through(chain, run)) {
            Ok(future) => Contained(Some(future)).await,
            Err(failure) => Err(failure),
        };
        result.map_err(|failure| Performed { fate: self.fate_of(raw, &failure), failure })
    }

    /// As the engine decides (OPT-08, HOOK-01 to HOOK-07).
    fn fate_of(&self, raw: &Bytes, failure: &Failure) -> Fate {
        let Ok(job) = RawJob::parse(raw) else { return Fate::Dead };
        if job.is_final_failure() {
            return Fate::Dead;
        }
        let hook = self.hooks.retry_in.get(job.class());
        match hook.map_or(RetryIn::Default, |hook| ask(hook, raw, failure)) {
            RetryIn::Default => Fate::Retry(retry::backoff(job.retry_count().saturating_add(1))),
            RetryIn::After(delay) => Fate::Retry(delay),
            RetryIn::Kill => Fate::Dead,
            RetryIn::Discard => Fate::Discarded,
        }
    }

    /// Calls the hooks that hear of a death, one after the other. What each of those that panicked said.
    pub async fn tell_of_death(&self, entry: &Bytes, failure: &Failure) -> Vec<Failure> {
        let class = RawJob::parse(entry).map(|job| job.class().to_owned()).unwrap_or_default();
        let own = self.hooks.exhausted.get(class.as_str());
        let mut panics = Vec::new();
        for hook in own.into_iter().chain(&self.hooks.death) {
            let (hook, job, failure) = (hook.clone(), FailedJob::new(entry.clone()), failure.clone());
            // A panic does not take the others along, as in a worker.
            let heard = Box::pin(async move {
                hook(job, failure).await;
                Ok(())
            });
            panics.extend(Contained(Some(heard)).await.err());
        }
        panics
    }

    /// The periodic jobs whose newest slot is after `from` and not after `now`.
    ///
    /// # Errors
    /// When an entry cannot be used.
    pub fn fired_between(&self, from: EpochSeconds, now: EpochSeconds) -> Result<Vec<Fired>, PeriodicError> {
        let mut fired = Vec::new();
        for entry in self.schedule.clone().into_entries()? {
            let newest = entry.cron.previous(now);
            if let Some(slot) = newest.filter(|slot| *slot as f64 > from.as_f64()) {
                fired.push(Fired { slot, job: entry.job_of(slot) });
            }
        }
        Ok(fired)
    }
}

/// A run on no worker.
pub(crate) fn detached_run(client: Client, raw: &Bytes) -> Run {
    let job = RawJob::parse(raw).unwrap_or_default();
    let queue: Arc<str> = job.queue().unwrap_or("default").into();
    // There is no Redis to keep a status in.
    let scope = RunScope { client, status_ttl: None, jobs: None, outage: Arc::default() };
    Run::new(raw, &job, &queue, &Arc::new(scope))
}
