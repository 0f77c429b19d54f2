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
    fn a_day_is_named_in_utc() {
        for (seconds, day) in
            [(0.0, "1970-01-01"), (951_782_399.9, "2000-02-28"), (951_782_400.0, "2000-02-29")]
        {
            assert_eq!(utc_day(EpochSeconds::new(seconds)), day);
        }
        assert_eq!(utc_day(EpochSeconds::new(1_796_004_601.2)), "2026-11-30");
    }
}
