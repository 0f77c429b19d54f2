//! Takes periodic jobs through the client middleware of the application before their slots are fired.

use std::time::Duration;

use cogworker_client::{Client, ClientError};
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::RedisError;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::periodic::Entry;

/// A middleware that takes longer holds up the other entries, and a stop.
const LIMIT: Duration = Duration::from_secs(5);

/// Why a slot was not fired.
#[derive(Debug, thiserror::Error)]
pub(super) enum FireError {
    #[error(transparent)]
    Redis(#[from] RedisError),
    #[error(transparent)]
    Job(#[from] ClientError),
    #[error("pass a job through the client middleware: it panicked")]
    Panicked,
    #[error("pass a job through the client middleware: it took longer than {} s", LIMIT.as_secs())]
    TookTooLong,
}

impl FireError {
    /// True when Redis is away, which is no fault of the entry.
    pub(super) fn outage(&self) -> Option<&RedisError> {
        match self {
            Self::Redis(failure) => Some(failure).filter(|failure| failure.is_outage()),
            _ => None,
        }
    }
}

/// The way of a periodic job through the middlewares. They run on the application's runtime, as its jobs do.
#[derive(Clone)]
pub(crate) struct Passage {
    client: Client,
    jobs: Handle,
}

impl Passage {
    pub(crate) fn new(client: Client, jobs: Handle) -> Self {
        Self { client, jobs }
    }

    /// The job of a slot as the middlewares leave it; `None` when one of them stopped it. What ties it to its
    /// entry is not theirs to change, and a slot is fired at once.
    pub(super) async fn pass(&self, entry: &Entry, slot: i64) -> Result<Option<NewJob>, FireError> {
        let (client, job) = (self.client.clone(), entry.job_of(slot));
        let mut passing = self.jobs.spawn(async move { client.pass(job).await });
        let Ok(passed) = timeout(LIMIT, &mut passing).await else {
            passing.abort();
            return Err(FireError::TookTooLong);
        };
        let passed = passed.map_err(|_| FireError::Panicked)??;
        Ok(passed.map(|(mut job, _)| {
            job.remove("at");
            entry.tie(job, slot)
        }))
    }
}
