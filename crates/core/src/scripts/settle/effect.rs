//! What is written beside an outcome.

use std::borrow::Cow;
use std::time::Duration;

use crate::keys::Key;
use crate::time::EpochSeconds;

/// What is written beside an outcome, in the same step and only where it applied. It never changes
/// an outcome: when it cannot be written, that is told and the outcome stands (MW-08).
#[derive(Debug, Clone)]
pub enum Effect {
    /// Fields of the job's status (STAT-02, STAT-03).
    Status {
        /// The job's status key.
        key: Key,
        /// How long it is kept after this write, s.
        ttl: u64,
        /// Fields and values; `update_time` is added, the time of the settlement.
        fields: Vec<(Cow<'static, str>, String)>,
    },
    /// A record of the run (HIST-01 to HIST-07).
    History {
        /// The record, as JSON.
        record: Vec<u8>,
        /// When it ended.
        finished_at: EpochSeconds,
        /// True for a success.
        success: bool,
        /// The job's class.
        class: String,
        /// How long the run took.
        took: Duration,
    },
}
