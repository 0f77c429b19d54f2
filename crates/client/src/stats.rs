//! Counters and sizes.

use cogworker_core::redis::RedisError;
use cogworker_core::scripts;

use crate::Client;

/// Counters and sizes, read in several calls: while jobs run they need not add up. A key of the
/// wrong type reads as `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Successful runs, ever.
    pub processed: Option<u64>,
    /// Failed runs, ever; those that were tried again included (PROC-14).
    pub failed: Option<u64>,
    /// Jobs waiting on all listed queues.
    pub enqueued: u64,
    /// Jobs that are due later.
    pub scheduled: Option<u64>,
    /// Failed jobs that will be tried again.
    pub retrying: Option<u64>,
    /// Jobs that failed for good.
    pub dead: Option<u64>,
}

impl Client {
    /// Reads the counters and sizes (CNT-08).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn stats(&self) -> Result<Stats, RedisError> {
        let totals = scripts::read_totals(self.redis()).await?;
        let queues = self.queues().await?;
        Ok(Stats {
            processed: totals.processed,
            failed: totals.failed,
            enqueued: queues.iter().filter_map(|queue| queue.size).sum(),
            scheduled: totals.scheduled,
            retrying: totals.retrying,
            dead: totals.dead,
        })
    }
}
