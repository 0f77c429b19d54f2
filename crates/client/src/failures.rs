//! What fails: the jobs that are retrying or dead, counted by queue and grouped by error.
//!
//! A census looks at the [`CENSUS_LIMIT`] entries of each set that come first, the next due and the newest dead,
//! or fewer where they are large, and says so when there were more ([`FailureCensus::is_complete`]).

mod census;
mod message_pattern;

use std::collections::{BTreeMap, BTreeSet};

use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;

pub use message_pattern::message_pattern;

use crate::Client;

/// A census looks at so many entries of each set: what a page can wait for.
pub const CENSUS_LIMIT: usize = 10_000;

/// So many hours back a group tells when its jobs failed.
pub const RECENT_HOURS: usize = 24;

/// The jobs that are retrying or dead.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FailureCensus {
    /// The groups, the one that failed last first.
    pub groups: Vec<FailureGroup>,
    /// How many there are of each queue, by its name.
    pub queues: BTreeMap<String, FailureCounts>,
    /// How many were looked at.
    pub searched: u64,
    /// How many there are.
    pub total: u64,
    /// False when there were more than were looked at.
    pub is_complete: bool,
}

/// How many jobs are retrying, and how many are dead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailureCounts {
    /// Jobs that will be tried again.
    pub retrying: u64,
    /// Jobs that failed for good.
    pub dead: u64,
}

/// Jobs whose last error has the same class and a like message.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FailureGroup {
    /// The error's class; empty when the entries do not say.
    pub error_class: String,
    /// The error's message, levelled by [`message_pattern`].
    pub message: String,
    /// One of the messages, as it is.
    pub example: String,
    /// The jobs' classes.
    pub classes: BTreeSet<String>,
    /// Their queues.
    pub queues: BTreeSet<String>,
    /// How many.
    pub counts: FailureCounts,
    /// How many of these jobs failed last in each of the [`RECENT_HOURS`] up to now, the oldest first.
    pub recent: Vec<u64>,
    /// When the first of these jobs failed first.
    pub first_seen: Option<EpochSeconds>,
    /// When the last of them failed last.
    pub last_seen: Option<EpochSeconds>,
}

impl FailureCounts {
    /// Both together.
    pub fn total(self) -> u64 {
        self.retrying + self.dead
    }
}

impl Client {
    /// Counts and groups the jobs that are retrying or dead.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn failure_census(&self) -> Result<FailureCensus, RedisError> {
        census::take(self).await
    }
}
