//! Points in time as the data format writes them.

use std::cmp::Ordering;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize};

/// A point in time: seconds since the epoch, with fractions.
///
/// ```
/// use cogworker_core::time::EpochSeconds;
///
/// assert_eq!(EpochSeconds::new(1796004601.1961932).to_string(), "1796004601.1961932");
/// assert_eq!(EpochSeconds::new(1.0).to_string(), "1.0");
/// ```
///
/// From and to the standard library's clock:
///
/// ```
/// use std::time::{Duration, SystemTime, UNIX_EPOCH};
/// use cogworker_core::time::EpochSeconds;
///
/// let time = UNIX_EPOCH + Duration::from_millis(1500);
/// assert_eq!(EpochSeconds::from(time), EpochSeconds::new(1.5));
/// assert_eq!(SystemTime::try_from(EpochSeconds::new(1.5))?, time);
/// # Ok::<_, cogworker_core::time::OutOfRangeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct EpochSeconds(f64);

/// Why a point in time has no [`SystemTime`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tell the time {0} s after the epoch: it is beyond what the system's clock knows")]
pub struct OutOfRangeError(EpochSeconds);

impl EpochSeconds {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self(0.0);

    /// The last of all, which stands for positive infinity: such a score means "never".
    pub const LAST: Self = Self(f64::MAX);

    /// The first of all, which stands for negative infinity.
    pub const FIRST: Self = Self(f64::MIN);

    /// A point in time from its number. An infinite one becomes the first or the last of all, what is no number the
    /// epoch itself.
    pub fn new(seconds: f64) -> Self {
        Self(if seconds.is_nan() { 0.0 } else { seconds.clamp(f64::MIN, f64::MAX) })
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

/// Longer than anything is of use, and short enough for Redis to take.
const LONGEST_TTL: f64 = 1e11;

/// How long a key that is to last `ttl` is kept, in s as Redis takes it: whole ones, at least 1, and at most some 3,000 years.
#[doc(hidden)]
pub fn ttl_seconds(ttl: Duration) -> u64 {
    ttl.as_secs_f64().ceil().clamp(1.0, LONGEST_TTL) as u64
}

// It is never NaN.
impl Eq for EpochSeconds {}

impl Ord for EpochSeconds {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for EpochSeconds {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'de> Deserialize<'de> for EpochSeconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

impl TryFrom<EpochSeconds> for SystemTime {
    type Error = OutOfRangeError;

    fn try_from(time: EpochSeconds) -> Result<Self, OutOfRangeError> {
        let distance = Duration::try_from_secs_f64(time.0.abs()).ok();
        let there = distance.and_then(|distance| {
            if time.0 < 0.0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
        });
        there.ok_or(OutOfRangeError(time))
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

/// The UTC day of a time, as the daily counters name it: `2026-11-30` (HIST-07).
pub fn utc_day(time: EpochSeconds) -> String {
    let (year, month, day) = utc_date((time.0.max(0.0) / 86_400.0) as u64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a day counted from 1970-01-01. Years are counted from March on, so that
/// the leap day is the last day of its year.
#[doc(hidden)]
pub fn utc_date(days: u64) -> (u64, u64, u64) {
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, carry) =
        if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    (era * 400 + year_of_era + carry, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_time_and_infinite_ones_keep_their_place() {
        let times = [f64::NEG_INFINITY, -1.0, f64::NAN, 1.0, f64::INFINITY].map(EpochSeconds::new);
        assert!(times.iter().all(|time| time.as_f64().is_finite()));
        assert_eq!(
            (times[0], times[2], times[4]),
            (EpochSeconds::FIRST, EpochSeconds::EPOCH, EpochSeconds::LAST)
        );
        assert!(times.is_sorted());
        assert_eq!(EpochSeconds::LAST.since(EpochSeconds::FIRST), Duration::MAX);
    }

    #[test]
    fn a_time_goes_to_the_systems_clock_and_back_where_that_knows_it() {
        for seconds in [0.0, -1.5, 1_796_004_601.5] {
            let time = EpochSeconds::new(seconds);
            assert_eq!(SystemTime::try_from(time).map(EpochSeconds::from), Ok(time));
        }
        for time in [EpochSeconds::FIRST, EpochSeconds::LAST] {
            assert!(SystemTime::try_from(time).is_err());
        }
        let error = SystemTime::try_from(EpochSeconds::new(1e30)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tell the time 1e30 s after the epoch: it is beyond what the system's clock knows"
        );
    }

    #[test]
    fn a_day_is_named_in_utc() {
        for (seconds, day) in
            [(0.0, "1970-01-01"), (951_782_399.9, "2000-02-28"), (951_782_400.0, "2000-02-29")]
        {
            assert_eq!(utc_day(EpochSeconds::new(seconds)), day);
        }
        assert_eq!(utc_day(EpochSeconds::new(1_796_004_601.2)), "2026-11-30");
    }
}
