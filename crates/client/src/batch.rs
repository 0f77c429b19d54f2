//! The jobs of a push that go to Redis together.

use std::collections::HashMap;

use cogworker_core::locks::{JobLocks, lock_seconds};
use cogworker_core::new_job::Prepared;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::scripts::{self, BATCH_BYTES, BATCH_LIMIT, Push};
use cogworker_core::time::EpochSeconds;
use tracing::debug;

use crate::ClientError;
use crate::client::Settings;

/// So many jobs at most go together.
pub(crate) const BATCH_JOBS: usize = 1000;

/// Jobs that go together: with `LPUSH`, unless there is more to write than the jobs themselves.
pub(crate) struct Batch<'a> {
    redis: &'a Redis,
    settings: &'a Settings,
    jobs: Vec<Ready>,
    bytes: usize,
}

/// A job as it goes to Redis.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) prepared: Prepared,
    pub(crate) payload: Vec<u8>,
    pub(crate) is_unique: bool,
}

impl Ready {
    /// True when nothing is to be written but the job, onto its queue.
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_unique && self.prepared.at.is_none()
    }
}

/// Why a batch stopped on its way.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// What became of each of its jobs.
    pub(crate) fates: Vec<Fate>,
    pub(crate) error: ClientError,
}

/// What became of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    Pushed,
    Duplicate,
    /// The reply got lost.
    Unknown,
    NotPushed,
}

impl Fate {
    /// Of jobs whose call failed.
    fn after(error: &RedisError) -> Self {
        if error.fate_is_unknown() { Self::Unknown } else { Self::NotPushed }
    }

    fn of(pushed: bool) -> Self {
        if pushed { Self::Pushed } else { Self::Duplicate }
    }
}

/// Jobs of a batch that go by one command, and their places in it.
struct Group<T> {
    places: Vec<usize>,
    jobs: Vec<T>,
}

impl<T> Group<T> {
    const EMPTY: Self = Self { places: Vec::new(), jobs: Vec::new() };

    fn add(&mut self, place: usize, job: T) {
        self.places.push(place);
        self.jobs.push(job);
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn new(redis: &'a Redis, settings: &'a Settings) -> Self {
        Self { redis, settings, jobs: Vec::new(), bytes: 0 }
    }

    pub(crate) fn is_full_for(&self, job: &Ready) -> bool {
        let bytes = self.bytes + job.payload.len();
        self.jobs.len() == BATCH_JOBS || (!self.jobs.is_empty() && bytes > BATCH_BYTES)
    }

    pub(crate) fn add(&mut self, job: Ready) {
        self.bytes += job.payload.len();
        self.jobs.push(job);
    }

    /// Pushes the jobs and is empty afterwards. One element for each: false for a duplicate.
    pub(crate) async fn push_out(&mut self) -> Result<Vec<bool>, Stopped> {
        let jobs = std::mem::take(&mut self.jobs);
        let count = jobs.len();
        self.bytes = 0;
        if let Some(sink) = &self.settings.sink {
            let now = sink.now();
            let jobs = jobs.into_iter().map(|job| self.traced(job, now)).collect();
            let nothing = |error| Stopped { fates: vec![Fate::NotPushed; count], error };
            return sink.clone().take(jobs).await.map_err(nothing);
        }
        if jobs.iter().any(|job| job.is_unique) || self.settings.status_ttl.is_some() {
            return self.push_with_traces(jobs).await;
        }
        self.push_plainly(jobs).await?;
        Ok(vec![true; count])
    }

    /// Queue by queue, in the order in which the jobs name them.
    async fn push_plainly(&self, jobs: Vec<Ready>) -> Result<(), Stopped> {
        let mut fates = vec![Fate::NotPushed; jobs.len()];
        let mut queues: Vec<(String, Group<Vec<u8>>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut scheduled: Group<(EpochSeconds, Vec<u8>)> = Group::EMPTY;
        for (place, Ready { prepared, payload, .. }) in jobs.into_iter().enumerate() {
            if let Some(at) = prepared.at {
                scheduled.add(place, (at, payload));
                continue;
            }
            // Mostly it is the queue of the job before.
            let last = queues.last_mut().filter(|(queue, _)| *queue == prepared.queue);
            if let Some((_, group)) = last {
                group.add(place, payload);
            } else if let Some(queue) = known.get(&prepared.queue) {
                queues[*queue].1.add(place, payload);
            } else {
                known.insert(prepared.queue.clone(), queues.len());
                queues.push((prepared.queue, Group { places: vec![place], jobs: vec![payload] }));
            }
        }
        for (queue, group) in queues {
            let pushed = push_onto_queue(self.redis, &queue, group.jobs).await;
            note(&mut fates, &group.places, pushed)?;
        }
        for (places, slice) in scheduled.places.chunks(BATCH_LIMIT).zip(scheduled.jobs.chunks(BATCH_LIMIT)) {
            let filed = scripts::schedule_jobs(self.redis, slice.to_vec()).await.map(|_| ());
            note(&mut fates, places, filed)?;
        }
        Ok(())
    }

    /// With their locks and statuses, each in the same step as its job.
    async fn push_with_traces(&self, jobs: Vec<Ready>) -> Result<Vec<bool>, Stopped> {
        let now = EpochSeconds::now();
        let total = jobs.len();
        let mut done = Vec::with_capacity(total);
        let mut jobs = jobs.into_iter().map(|job| self.traced(job, now));
        let stopped = |done: &[bool], unknown: usize, error: RedisError| {
            let mut fates: Vec<Fate> = done.iter().map(|pushed| Fate::of(*pushed)).collect();
            fates.extend(vec![Fate::after(&error); unknown]);
            fates.resize(total, Fate::NotPushed);
            Stopped { fates, error: error.into() }
        };
        loop {
            let slice: Vec<Push> = jobs.by_ref().take(BATCH_LIMIT).collect();
            let count = slice.len();
            if count == 0 {
                return Ok(done);
            }
            let pushed = scripts::push_jobs(self.redis, slice, self.settings.status_ttl)
                .await
                .map_err(|error| stopped(&done, count, error))?;
            done.extend(pushed.pushed);
            if let Some(error) = pushed.error {
                // Told by the script itself, so nothing is open.
                return Err(stopped(&done, 0, error));
            }
        }
    }

    /// The lock is named after the very bytes that a worker will read (P-33).
    fn traced(&self, Ready { prepared, payload, .. }: Ready, now: EpochSeconds) -> Push {
        let Prepared { jid, queue, at } = prepared;
        let job = RawJob::parse(&payload).unwrap_or_default();
        let lock = JobLocks::of(&job, self.redis.keys()).unique;
        Push {
            jid,
            class: job.class().to_owned(),
            queue,
            at,
            lock: lock.map(|key| (key, lock_seconds(self.settings.unique_lock_ttl, at, now))),
            payload,
        }
    }
}

/// Notes what the call of the jobs at `places` came to.
fn note(fates: &mut Vec<Fate>, places: &[usize], result: Result<(), RedisError>) -> Result<(), Stopped> {
    let fate = result.as_ref().map_or_else(Fate::after, |()| Fate::Pushed);
    for place in places {
        fates[*place] = fate;
    }
    result.map_err(|error| Stopped { fates: std::mem::take(fates), error: error.into() })
}

/// New jobs enter at the left (PUSH-04). The queue's listing is written in the same pipeline and
/// is only a listing: when it fails the jobs are on their queue all the same, and an error would
/// make the caller push them again (PUSH-10, PUSH-11).
pub(crate) async fn push_onto_queue(
    redis: &Redis,
    queue: &str,
    payloads: Vec<Vec<u8>>,
) -> Result<(), RedisError> {
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
