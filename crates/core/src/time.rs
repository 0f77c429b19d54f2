//! Points in time as the data format writes them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point in time: seconds since the epoch, with fractions.
///
/// ```
/// use cogworker_core::time::EpochSeconds;
///
/// assert_eq!(EpochSeconds::new(1796004601.1961932).to_string(), "1796004601.1961932");
/// assert_eq!(EpochSeconds::new(1.0).to_string(), "1.0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochSeconds(f64);

impl EpochSeconds {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self(0.0);

    /// A point in time from its number. What is not finite becomes the epoch itself.
    pub fn new(seconds: f64) -> Self {
        Self(if seconds.is_finite() { seconds } else { 0.0 })
    }

    /// The host's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// The number.
    pub fn as_f64(self) -> f64 {
        self.0
    }

    /// Later by `delay`.
    #[must_use]
    pub fn plus(self, delay: Duration) -> Self {
        Self(self.0 + delay.as_secs_f64())
    }

    /// How long after `earlier` this is; zero when it is before.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from_secs_f64((self.0 - earlier.0).max(0.0)).unwrap_or(Duration::MAX)
    }
}

impl From<SystemTime> for EpochSeconds {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(since.as_secs_f64()),
            Err(before) => Self(-before.duration().as_secs_f64()),
        }
    }
}

impl fmt::Display for EpochSeconds {
    /// As JSON, and as Ruby writes it: always with a fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
