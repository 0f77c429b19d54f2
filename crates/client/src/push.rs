//! Pushing jobs.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use cogworker_core::jid::Jid;
use cogworker_core::job::Job;
use cogworker_core::new_job::{NewJob, Prepared};
use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::scripts::{self, BATCH_BYTES, BATCH_LIMIT};
use cogworker_core::time::EpochSeconds;
use tracing::debug;

use crate::middleware::{MiddlewareError, Next};
use crate::{Client, ClientError};

/// A bulk push sends so many jobs at a time.
const BULK_SLICE: usize = 1000;

impl Client {
    /// Pushes a job onto its queue. `None` means that it was stopped on its way, by a lock or a
    /// middleware, and nothing was pushed.
    ///
    /// # Errors
    /// When the job cannot be written as JSON, or Redis does not take it. After a lost reply
    /// ([`RedisError::fate_is_unknown`]) the job may have been pushed all the same.
    pub async fn perform_async<J: Job>(&self, job: &J) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job)).await
    }

    /// Schedules a job to run after `delay`.
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn perform_in<J: Job>(&self, delay: Duration, job: &J) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job).at(EpochSeconds::now().plus(delay))).await
    }

    /// Schedules a job to run at `when`.
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn perform_at<J: Job>(&self, when: SystemTime, job: &J) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job).at(when.into())).await
    }

    /// Pushes a job of any class, known here or not, with any fields (PUSH-08, PUSH-09).
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn push(&self, job: NewJob) -> Result<Option<Jid>, ClientError> {
        let Some((job, prepared)) = self.pass(job).await? else { return Ok(None) };
        let now = EpochSeconds::now();
        match prepared.at {
            Some(at) => {
                scripts::schedule_jobs(self.redis(), vec![(at, job.payload(None))]).await?;
            }
            None => {
                push_onto_queue(self.redis(), &prepared.queue, vec![job.payload(Some(now))]).await?;
            }
        }
        Ok(Some(prepared.jid))
    }

    /// Takes a job through the middlewares. What they changed is honoured, so it is checked again.
    async fn pass(&self, mut job: NewJob) -> Result<Option<(NewJob, Prepared)>, ClientError> {
        let now = EpochSeconds::now();
        let prepared = job.prepare(now)?;
        let chain = &self.settings().chain;
        if chain.is_empty() {
            return Ok(Some((job, prepared)));
        }
        let passed = Next::first_of(chain).run(job).await.map_err(MiddlewareError::from)?;
        let Some(mut job) = passed else { return Ok(None) };
        let prepared = job.prepare(now)?;
        Ok(Some((job, prepared)))
    }

    /// Pushes many jobs in few round trips: one for each queue and slice of up to a thousand jobs or
    /// a megabyte, and one for every 500 scheduled ones. The result has one element for each job,
    /// in order. An empty slice pushes nothing.
    ///
    /// # Errors
    /// Every job is checked, and taken through the middlewares one after the other, before the first
    /// is pushed; so a bad one means that nothing was. If Redis fails on the way, the error says how
    /// many had been pushed.
    pub async fn push_bulk<J: Job>(&self, jobs: &[J]) -> Result<Vec<Option<Jid>>, ClientError> {
        self.push_all(jobs.iter().map(NewJob::of).collect()).await
    }

    /// Like [`push_bulk`](Self::push_bulk), for jobs of any classes.
    ///
    /// # Errors
    /// As [`push_bulk`](Self::push_bulk).
    pub async fn push_all(&self, jobs: Vec<NewJob>) -> Result<Vec<Option<Jid>>, ClientError> {
        let total = jobs.len();
        let mut passed = Vec::with_capacity(total);
        for job in jobs {
            passed.push(self.pass(job).await?);
        }
        let now = EpochSeconds::now();
        let mut pushed = 0;
        let mut slice = Slice::default();
        for (job, prepared) in passed.iter().flatten() {
            let payload = job.payload(prepared.at.is_none().then_some(now));
            if slice.is_full_for(&payload) {
                pushed += slice.push_out(self.redis()).await.map_err(|source| ClientError::Bulk {
                    pushed,
                    total,
                    source,
                })?;
            }
            slice.add(prepared, payload);
        }
        slice.push_out(self.redis()).await.map_err(|source| ClientError::Bulk { pushed, total, source })?;
        Ok(passed.into_iter().map(|job| job.map(|(_, prepared)| prepared.jid)).collect())
    }
}

/// The jobs of a bulk push that go together.
#[derive(Default)]
struct Slice<'a> {
    by_queue: HashMap<&'a str, Vec<Vec<u8>>>,
    scheduled: Vec<(EpochSeconds, Vec<u8>)>,
    jobs: usize,
    bytes: usize,
}

impl<'a> Slice<'a> {
    fn is_full_for(&self, payload: &[u8]) -> bool {
        self.jobs == BULK_SLICE || (self.jobs > 0 && self.bytes + payload.len() > BATCH_BYTES)
    }

    fn add(&mut self, prepared: &'a Prepared, payload: Vec<u8>) {
        self.jobs += 1;
        self.bytes += payload.len();
        match prepared.at {
            Some(at) => self.scheduled.push((at, payload)),
            None => self.by_queue.entry(&prepared.queue).or_default().push(payload),
        }
    }

    /// Pushes the jobs and is empty afterwards; how many there were.
    async fn push_out(&mut self, redis: &Redis) -> Result<usize, RedisError> {
        let Slice { by_queue, scheduled, jobs, bytes: _ } = std::mem::take(self);
        for (queue, payloads) in by_queue {
            push_onto_queue(redis, queue, payloads).await?;
        }
        for slice in scheduled.chunks(BATCH_LIMIT) {
            scripts::schedule_jobs(redis, slice.to_vec()).await?;
        }
        Ok(jobs)
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
