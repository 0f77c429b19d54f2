//! How much of the history is kept.

use std::time::Duration;

const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 3600)
}

/// How much of the run history a worker keeps (HIST-05, HIST-06, HIST-09). Each write drops what is beyond.
///
/// ```
/// use std::time::Duration;
/// use cogworker_core::history_limits::HistoryLimits;
///
/// let limits = HistoryLimits::new().max_entries(1_000).retention(Duration::from_secs(7 * 24 * 3600));
/// assert_eq!(limits.max_entries, 1_000);
/// assert_eq!(HistoryLimits::default().max_entries, 50_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryLimits {
    /// The newest entries of each list.
    pub max_entries: u64,
    /// No entry older than this.
    pub retention: Duration,
    /// How long the counters of a day are kept.
    pub daily_retention: Duration,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self::new()
    }
}

impl HistoryLimits {
    /// The gem's: 50,000 entries, 30 days, and 400 days for the counters.
    pub const fn new() -> Self {
        Self { max_entries: 50_000, retention: days(30), daily_retention: days(400) }
    }

    /// Keeps the newest `entries` of each list: of all runs, the successful and the failed ones.
    #[must_use]
    pub const fn max_entries(self, entries: u64) -> Self {
        Self { max_entries: entries, ..self }
    }

    /// Keeps no entry longer than `age`.
    #[must_use]
    pub const fn retention(self, age: Duration) -> Self {
        Self { retention: age, ..self }
    }

    /// Keeps the counters of a day for `age`, which the lists' limits leave alone (HIST-08).
    #[must_use]
    pub const fn daily_retention(self, age: Duration) -> Self {
        Self { daily_retention: age, ..self }
    }
}
