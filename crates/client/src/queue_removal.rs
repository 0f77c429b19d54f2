//! Emptying a queue step by step, and forgetting it.

use cogworker_core::redis::{Call, RedisError};
use cogworker_core::scripts::{self, BATCH_LIMIT};

use crate::Queue;

/// One step of emptying a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClearedSlice {
    /// How many jobs it found; 0 when none waits.
    pub found: u64,
    /// How many of them it deleted. The others were taken by a worker first.
    pub deleted: u64,
}

impl Queue {
    /// Whether the queue is listed, or anything is stored under its key.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn exists(&self) -> Result<bool, RedisError> {
        let keys = self.redis().keys();
        let listed = Call::new().key(keys.queues()).arg(self.name());
        let stored = Call::new().key(keys.queue(self.name()));
        let (listed, stored) =
            tokio::join!(self.redis().command("SISMEMBER", listed), self.redis().command("EXISTS", stored));
        if stored?.int()? == 1 {
            return Ok(true);
        }
        Ok(listed?.int()? == 1)
    }

    /// Deletes up to `most` of the jobs that are taken next, as many as one call may carry, and frees their
    /// locks. For a queue that is emptied under someone's eyes; else [`clear`](Self::clear).
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn clear_slice(&self, most: u64) -> Result<ClearedSlice, RedisError> {
        let mut entries = scripts::peek_entries(self.redis(), &self.source(), 0).await?.entries;
        entries.truncate(usize::try_from(most).unwrap_or(BATCH_LIMIT));
        if entries.is_empty() {
            return Ok(ClearedSlice { found: 0, deleted: 0 });
        }
        let each = scripts::delete_entries(self.redis(), &self.source(), &entries).await?;
        let deleted = each.into_iter().filter(|deleted| *deleted).count() as u64;
        Ok(ClearedSlice { found: entries.len() as u64, deleted })
    }

    /// Takes the queue off the listings and ends its pause, unless a job waits on it: then nothing is changed,
    /// and the answer is false. A live process that reads it lists it again at its next heartbeat.
    ///
    /// # Errors
    /// When Redis does not take it, or the queue's key holds something else.
    pub async fn unlist(&self) -> Result<bool, RedisError> {
        scripts::unlist_queue(self.redis(), self.name()).await
    }
}
