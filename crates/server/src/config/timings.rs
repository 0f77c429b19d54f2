//! Periods that the data format and the gem fix.

use std::time::Duration;

use cogworker_core::formats::PRESENCE_TTL;

/// Other processes count on these, so they are no settings; tests shorten them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Between two heartbeats (BEAT-01).
    pub beat: Duration,
    /// How long a presence holds without another heartbeat; whole seconds (BEAT-01).
    pub presence: Duration,
    /// Between two looks for orphans and damaged keys (SCHED-13, GUARD-09).
    pub check: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self { beat: Duration::from_secs(5), presence: PRESENCE_TTL, check: Duration::from_secs(60) }
    }
}
