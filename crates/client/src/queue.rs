//! Queues: what waits, and whether it may be taken.

use std::time::Duration;

use bytes::Bytes;
use cogworker_core::page::Page;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::scripts::{self, EntrySource, QueueState};
use cogworker_core::time::EpochSeconds;

use crate::Client;

/// One queue.
#[derive(Debug, Clone)]
pub struct Queue {
    redis: Redis,
    name: String,
}

/// A queue's state at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QueueInfo {
    /// Its name.
    pub name: String,
    /// How many jobs wait. `None` when its key holds something that is no queue.
    pub size: Option<u64>,
    /// How long the job that is taken next has been waiting; zero for an empty queue (QAPI-03).
    pub latency: Duration,
    /// True when no job is taken from it.
    pub paused: bool,
}

impl QueueInfo {
    fn new(name: &str, state: QueueState) -> Self {
        let enqueued_at =
            state.next.as_ref().and_then(|raw| RawJob::parse(raw).ok().and_then(|job| job.enqueued_at()));
        Self {
            name: name.to_owned(),
            size: state.length,
            latency: enqueued_at.map_or(Duration::ZERO, |at| EpochSeconds::now().since(at)),
            paused: state.paused,
        }
    }
}

impl Client {
    /// Every listed queue, by name.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn queues(&self) -> Result<Vec<QueueInfo>, RedisError> {
        let mut names = scripts::list_members(self.redis(), self.redis().keys().queues()).await?;
        names.sort_unstable();
        let states = scripts::list_queues(self.redis(), &names).await?;
        Ok(names.iter().zip(states).map(|(name, state)| QueueInfo::new(name, state)).collect())
    }
}

impl Queue {
    pub(crate) fn new(redis: Redis, name: &str) -> Self {
        Self { redis, name: name.to_owned() }
    }

    pub(crate) fn redis(&self) -> &Redis {
        &self.redis
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size, latency and pause state in one moment.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn info(&self) -> Result<QueueInfo, RedisError> {
        let mut states = scripts::list_queues(&self.redis, std::slice::from_ref(&self.name)).await?;
        match states.pop() {
            Some(state) => Ok(QueueInfo::new(&self.name, state)),
            None => Err(RedisError::UnexpectedReply { expected: "one queue", found: "none".into() }),
        }
    }

    /// The raw jobs `skip` to `skip + count` (at most 1,000); the one taken next comes first.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn page(&self, skip: u64, count: u64) -> Result<Page<Bytes>, RedisError> {
        scripts::page_list(&self.redis, self.redis.keys().queue(&self.name), skip, count).await
    }

    /// No job is taken from it until it is resumed (QAPI-02).
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn pause(&self) -> Result<(), RedisError> {
        let call = Call::new().key(self.redis.keys().paused_queues()).arg(&self.name);
        self.redis.command("SADD", call).await.map(|_| ())
    }

    /// Jobs are taken again; at most a second may pass until the first is.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn resume(&self) -> Result<(), RedisError> {
        let call = Call::new().key(self.redis.keys().paused_queues()).arg(&self.name);
        self.redis.command("SREM", call).await.map(|_| ())
    }

    /// Deletes every job that waits now, and frees their locks; how many there were. In slices, while
    /// jobs may be pushed and taken.
    ///
    /// # Errors
    /// When Redis does not take it; some jobs may be deleted then.
    pub async fn clear(&self) -> Result<u64, RedisError> {
        clear_entries(&self.redis, &self.source()).await
    }

    /// Deletes the waiting job with exactly these bytes, and frees its locks (QAPI-06, P-34); false when
    /// it is not there.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn delete(&self, raw: &Bytes) -> Result<bool, RedisError> {
        let deleted = scripts::delete_entries(&self.redis, &self.source(), std::slice::from_ref(raw)).await?;
        Ok(deleted == [true])
    }

    pub(crate) fn source(&self) -> EntrySource {
        EntrySource::List(self.redis.keys().queue(&self.name))
    }
}

/// Deletes what is there now, in slices; how many entries there were.
pub(crate) async fn clear_entries(redis: &Redis, source: &EntrySource) -> Result<u64, RedisError> {
    let mut deleted = 0;
    // What comes meanwhile stays, or a busy queue would never be cleared.
    let mut left = None;
    loop {
        let Page { total, mut entries, .. } = scripts::peek_entries(redis, source, 0).await?;
        let remaining: u64 = left.unwrap_or(total);
        entries.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
        if entries.is_empty() {
            return Ok(deleted);
        }
        left = Some(remaining - entries.len() as u64);
        let steps = scripts::delete_entries(redis, source, &entries).await?;
        deleted += steps.into_iter().filter(|deleted| *deleted).count() as u64;
    }
}
