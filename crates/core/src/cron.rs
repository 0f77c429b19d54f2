//! Crons: when a periodic job is due, in the spelling of the Ruby gem (fugit's).
//!
//! A [`Cron`] is read once, where an entry is registered, and refused there if it is misspelt or never comes.
//! After that it only answers two questions, which slot was the last one and which comes next, and it answers
//! them alike in every process. docs/periodic.md has the spelling and the rule for moved clocks.

mod calendar;
mod clock;
mod error;
mod expression;
mod field;
mod phrase;
mod slots;
mod time_of_day;
mod words;
mod zone;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use error::{CronError, CronPart};
pub use zone::Zone;

use crate::time::EpochSeconds;
use clock::Clock;
use slots::Slots;

/// When a periodic job is due.
///
/// Times are asked and told in seconds since the epoch. A *slot* is one such time; it is a whole second
/// (TICK-29).
///
/// ```
/// use cogworker_core::cron::Cron;
/// use cogworker_core::time::EpochSeconds;
///
/// let cron = Cron::parse("0 9 * * mon-fri America/New_York").unwrap();
/// let saturday = EpochSeconds::new(1_735_992_000.5); // 2025-01-04 12:00:00.5 UTC
/// assert_eq!(cron.previous(saturday), Some(1_735_912_800)); // Friday, 9:00 in New York
/// assert_eq!(cron.next(saturday), Some(1_736_172_000)); // Monday, 9:00 in New York
/// ```
#[derive(Clone, Debug)]
pub struct Cron {
    text: String,
    slots: Slots,
}

impl Cron {
    /// Reads a cron; one that names no zone means UTC.
    ///
    /// # Errors
    ///
    /// A text in no known spelling, or a time that never comes, such as February 30th.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        Self::parse_in(text, Zone::UTC)
    }

    /// Reads a cron; one that names no zone means `zone`.
    ///
    /// The Ruby gem takes the local zone of each machine there. For the same slots, pass that zone, and the same
    /// one in every process.
    ///
    /// ```
    /// use cogworker_core::cron::{Cron, Zone};
    ///
    /// let berlin: Zone = "Europe/Berlin".parse().unwrap();
    /// assert_eq!(Cron::parse_in("@daily", berlin).unwrap().zone(), berlin);
    /// assert_eq!(Cron::parse_in("@daily Asia/Tokyo", berlin).unwrap().zone().name(), "Asia/Tokyo");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Cron::parse`].
    pub fn parse_in(text: &str, zone: Zone) -> Result<Self, CronError> {
        let (calendar, named) = expression::parse(text).map_err(|fault| {
            let shown: String = text.chars().take(expression::LONGEST).collect();
            fault.in_text(&shown)
        })?;
        let clock = Clock(named.unwrap_or(zone));
        Ok(Self { text: text.to_owned(), slots: Slots { calendar, clock } })
    }

    /// The newest slot that is not after `now`, in epoch seconds.
    ///
    /// `None` only beyond the years that dates are known for (1 to 4999).
    pub fn previous(&self, now: EpochSeconds) -> Option<i64> {
        self.slots.at_or_before(whole(now))
    }

    /// The first slot after `after`, in epoch seconds.
    ///
    /// `None` only beyond the years that dates are known for (1 to 4999).
    pub fn next(&self, after: EpochSeconds) -> Option<i64> {
        self.slots.after(whole(after))
    }

    /// The text exactly as it was given: the id of an entry is made from it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// In plain words, without the zone; `None` for one that is too special for them.
    ///
    /// ```
    /// use cogworker_core::cron::Cron;
    ///
    /// let cron = Cron::parse("0 9 * * mon-fri").unwrap();
    /// assert_eq!(cron.in_words().as_deref(), Some("Every weekday at 09:00"));
    /// ```
    pub fn in_words(&self) -> Option<String> {
        words::in_words(&self.text)
    }

    /// The zone whose clock it goes by.
    pub fn zone(&self) -> Zone {
        self.slots.clock.0
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        Self::parse(text)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The whole second that a time is in. A number beyond any date becomes one that has no slots.
fn whole(time: EpochSeconds) -> i64 {
    time.as_f64().floor() as i64
}
