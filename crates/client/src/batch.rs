//! The jobs of a push that go to Redis together.

use std::collections::HashMap;

use cogworker_core::locks::{JobLocks, lock_seconds};
use cogworker_core::new_job::{NewJob, Prepared};
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::scripts::{self, BATCH_BYTES, BATCH_LIMIT, Push};
use cogworker_core::time::EpochSeconds;
use tracing::debug;

use crate::ClientError;
use crate::client::Settings;

/// So many jobs at most go together.
const BATCH_JOBS: usize = 1000;

/// Jobs that go together: with `LPUSH`, unless there is more to write than the jobs themselves.
pub(crate) struct Batch<'a> {
    redis: &'a Redis,
    settings: &'a Settings,
    jobs: Vec<(&'a Prepared, Vec<u8>)>,
    bytes: usize,
    has_unique: bool,
}

/// Why a batch stopped on its way.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// How many of its first jobs are done for certain: pushed, or found to be duplicates.
    pub(crate) done: usize,
    pub(crate) error: ClientError,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(redis: &'a Redis, settings: &'a Settings) -> Self {
        Self { redis, settings, jobs: Vec::new(), bytes: 0, has_unique: false }
    }

    pub(crate) fn is_full_for(&self, payload: &[u8]) -> bool {
        self.jobs.len() == BATCH_JOBS || (!self.jobs.is_empty() && self.bytes + payload.len() > BATCH_BYTES)
    }

    pub(crate) fn add(&mut self, job: &NewJob, prepared: &'a Prepared, payload: Vec<u8>) {
        self.bytes += payload.len();
        self.has_unique |= job.is_unique();
        self.jobs.push((prepared, payload));
    }

    /// Pushes the jobs and is empty afterwards. One element for each: false for a duplicate.
    pub(crate) async fn push_out(&mut self) -> Result<Vec<bool>, Stopped> {
        let jobs = std::mem::take(&mut self.jobs);
        self.bytes = 0;
        if let Some(sink) = &self.settings.sink {
            let now = sink.now();
            let jobs =
                jobs.into_iter().map(|(prepared, payload)| self.traced(prepared, payload, now)).collect();
            return sink.clone().take(jobs).await.map_err(|error| Stopped { done: 0, error });
        }
        if std::mem::take(&mut self.has_unique) || self.settings.status_ttl.is_some() {
            return self.push_with_traces(jobs).await;
        }
        let count = jobs.len();
        self.push_plainly(jobs).await.map_err(|error| Stopped { done: 0, error: error.into() })?;
        Ok(vec![true; count])
    }

    async fn push_plainly(&self, jobs: Vec<(&Prepared, Vec<u8>)>) -> Result<(), RedisError> {
        let mut by_queue: HashMap<&str, Vec<Vec<u8>>> = HashMap::new();
        let mut scheduled = Vec::new();
        for (prepared, payload) in jobs {
            match prepared.at {
                Some(at) => scheduled.push((at, payload)),
                None => by_queue.entry(&prepared.queue).or_default().push(payload),
            }
        }
        for (queue, payloads) in by_queue {
            push_onto_queue(self.redis, queue, payloads).await?;
        }
        for slice in scheduled.chunks(BATCH_LIMIT) {
            scripts::schedule_jobs(self.redis, slice.to_vec()).await?;
        }
        Ok(())
    }

    /// With their locks and statuses, each in the same step as its job.
    async fn push_with_traces(&self, jobs: Vec<(&Prepared, Vec<u8>)>) -> Result<Vec<bool>, Stopped> {
        let now = EpochSeconds::now();
        let mut done = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter().map(|(prepared, payload)| self.traced(prepared, payload, now));
        loop {
            let slice: Vec<Push> = jobs.by_ref().take(BATCH_LIMIT).collect();
            if slice.is_empty() {
                return Ok(done);
            }
            let pushed = scripts::push_jobs(self.redis, slice, self.settings.status_ttl)
                .await
                .map_err(|error| Stopped { done: done.len(), error: error.into() })?;
            done.extend(pushed.pushed);
            if let Some(error) = pushed.error {
                return Err(Stopped { done: done.len(), error: error.into() });
            }
        }
    }

    /// The lock is named after the very bytes that a worker will read (P-33).
    fn traced(&self, prepared: &Prepared, payload: Vec<u8>, now: EpochSeconds) -> Push {
        let job = RawJob::parse(&payload).unwrap_or_default();
        let lock = JobLocks::of(&job, self.redis.keys()).unique;
        Push {
            jid: prepared.jid.clone(),
            class: job.class().to_owned(),
            queue: prepared.queue.clone(),
            at: prepared.at,
            lock: lock.map(|key| (key, lock_seconds(self.settings.unique_lock_ttl, prepared.at, now))),
            payload,
        }
    }
}

/// New jobs enter at the left (PUSH-04). The queue's listing is written in the same pipeline and
/// is only a listing: when it fails the jobs are on their queue all the same, and an error would
/// make the caller push them again (PUSH-10, PUSH-11).
async fn push_onto_queue(redis: &Redis, queue: &str, payloads: Vec<Vec<u8>>) -> Result<(), RedisError> {
    let mut push = Call::new().key(redis.keys().queue(queue));
    for payload in payloads {
        push.push(payload);
    }
    let list = Call::new().key(redis.keys().queues()).arg(queue);
    let (pushed, listed) = tokio::join!(biased; redis.command("LPUSH", push), redis.command("SADD", list));
    if let Err(error) = listed {
        debug!(queue, "the queue is not listed: failed to {error}");
    }
    pushed?.int().map(|_| ())
}
