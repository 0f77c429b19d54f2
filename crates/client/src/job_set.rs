//! The sorted sets: schedule, retry and dead.

use bytes::Bytes;
use cogworker_core::payload_edit;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::scripts::{self, Moves, Page, Step};
use cogworker_core::time::EpochSeconds;

#[derive(Debug, Clone, Copy)]
pub(crate) enum SetKind {
    Schedule,
    Retry,
    Dead,
}

/// One of the sorted sets.
#[derive(Debug, Clone)]
pub struct JobSet {
    redis: Redis,
    kind: SetKind,
}

/// An entry: its exact bytes address it, not its score, which others may share (P-23).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The stored job.
    pub raw: Bytes,
    /// When it is due, or died.
    pub score: EpochSeconds,
}

/// What became of a request to run an entry now (CLAIM-01, CLAIM-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requeued {
    /// It is on its queue.
    Requeued,
    /// It was not there any more.
    Gone,
    /// It is no job, or names no queue: it stays where it is.
    Invalid,
}

impl JobSet {
    pub(crate) fn new(redis: Redis, kind: SetKind) -> Self {
        Self { redis, kind }
    }

    fn key(&self) -> String {
        let keys = self.redis.keys();
        match self.kind {
            SetKind::Schedule => keys.schedule(),
            SetKind::Retry => keys.retry(),
            SetKind::Dead => keys.dead(),
        }
    }

    /// How many entries there are.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn size(&self) -> Result<u64, RedisError> {
        Ok(self.redis.command("ZCARD", Call::new().key(self.key())).await?.int()?.max(0) as u64)
    }

    /// Entries `skip` to `skip + count` (at most 1,000): the next due first, in dead the newest
    /// first.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn page(&self, skip: usize, count: usize) -> Result<Page<Entry>, RedisError> {
        let newest_first = matches!(self.kind, SetKind::Dead);
        let page = scripts::page_set(&self.redis, self.key(), skip, count, newest_first).await?;
        let entries = page.entries.into_iter().map(|(raw, score)| Entry { raw, score }).collect();
        Ok(Page { total: page.total, entries })
    }

    /// Puts an entry on its queue now, once, however often it is asked for (CLAIM-04).
    ///
    /// # Errors
    /// When Redis does not take it; the entry then stays where it is.
    pub async fn requeue(&self, raw: &Bytes) -> Result<Requeued, RedisError> {
        let Ok(job) = RawJob::parse(raw) else { return Ok(Requeued::Invalid) };
        let Some(queue) = job.queue() else { return Ok(Requeued::Invalid) };
        let Ok(payload) = payload_edit::stamp_enqueued_at(raw, EpochSeconds::now()) else {
            return Ok(Requeued::Invalid);
        };
        let mut moves = Moves::new(self.key(), None);
        moves.to_queue(raw.clone(), payload, queue);
        let moved = scripts::move_entries(&self.redis, moves).await?;
        match (moved.steps.first(), moved.error) {
            (Some(Step::Applied), _) => Ok(Requeued::Requeued),
            (Some(Step::Failed), Some(error)) => Err(error),
            _ => Ok(Requeued::Gone),
        }
    }

    /// Deletes an entry; false when it was not there any more.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn delete(&self, raw: &Bytes) -> Result<bool, RedisError> {
        let call = Call::new().key(self.key()).arg(raw);
        Ok(self.redis.command("ZREM", call).await?.int()? == 1)
    }

    /// Deletes every entry.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn clear(&self) -> Result<(), RedisError> {
        self.redis.command("UNLINK", Call::new().key(self.key())).await.map(|_| ())
    }
}
