//! What a zone's clock on the wall shows, and where it was moved.
//!
//! Both kinds of time are whole seconds: an *instant* counts them from the epoch, a *wall* time is the date
//! and time that the clock shows, counted as if it were in UTC.

use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeZone};

use super::zone::Zone;

/// No zone was ever further from UTC, so an instant and its wall time are less than this apart.
const FURTHEST: i64 = 48 * 60 * 60;

/// When the clock shows a wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Once(i64),
    /// The clock went back over it.
    Twice(Shift),
    /// The clock went forward over it.
    Never(Shift),
}

/// One move of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    /// The first instant after the move.
    pub(super) instant: i64,
    /// The wall times from here to before `end` are shown twice, or never.
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Shift {
    /// When a repeated wall time is shown first: before the clock goes back.
    pub(super) fn first_pass(&self, wall: i64) -> i64 {
        self.instant - (self.end - wall)
    }

    /// When a repeated wall time is shown again.
    pub(super) fn second_pass(&self, wall: i64) -> i64 {
        self.instant + (wall - self.start)
    }
}

/// The clock of one zone. Its answers are `None` beyond the years that a date can have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(pub(super) Zone);

impl Clock {
    pub(super) fn wall(self, instant: i64) -> Option<i64> {
        let utc = naive(instant)?;
        let offset = self.0.tz().offset_from_utc_datetime(&utc).fix().local_minus_utc();
        instant.checked_add(i64::from(offset))
    }

    pub(super) fn shown(self, wall: i64) -> Option<Shown> {
        match self.0.tz().from_local_datetime(&naive(wall)?) {
            LocalResult::Single(instant) => Some(Shown::Once(instant.timestamp())),
            LocalResult::Ambiguous(first, second) => {
                self.overlap(first.timestamp(), second.timestamp()).map(Shown::Twice)
            }
            LocalResult::None => self.gap(wall).map(Shown::Never),
        }
    }

    /// The move back between two instants at which the clock shows the same.
    fn overlap(self, first: i64, second: i64) -> Option<Shift> {
        let ahead = self.wall(first)? - first;
        let instant = bisect(first, second, |instant| Some(self.wall(instant)? - instant != ahead))?;
        Some(Shift { instant, start: self.wall(instant)?, end: instant + ahead })
    }

    /// The move forward over a wall time that is never shown.
    fn gap(self, wall: i64) -> Option<Shift> {
        let instant = bisect(wall - FURTHEST, wall + FURTHEST, |instant| Some(self.wall(instant)? > wall))?;
        Some(Shift { instant, start: self.wall(instant - 1)? + 1, end: self.wall(instant)? })
    }
}

/// The first number after `before` for which a claim holds that does not hold for `before` and does for
/// `after`.
fn bisect(mut before: i64, mut after: i64, holds: impl Fn(i64) -> Option<bool>) -> Option<i64> {
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if holds(middle)? {
            after = middle;
        } else {
            before = middle;
        }
    }
    Some(after)
}

fn naive(seconds: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp(seconds, 0).map(|time| time.naive_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> i64 {
        let (date, time) = text.split_once(' ').unwrap();
        let date: chrono::NaiveDate = date.parse().unwrap();
        date.and_time(time.parse().unwrap()).and_utc().timestamp()
    }

    fn shown(zone: &str, wall: &str) -> Shown {
        Clock(zone.parse().unwrap()).shown(seconds(wall)).unwrap()
    }

    fn shift(instant: &str, start: &str, end: &str) -> Shift {
        Shift { instant: seconds(instant), start: seconds(start), end: seconds(end) }
    }

    #[test]
    fn a_wall_time_is_shown_once_on_most_days() {
        let expected = Shown::Once(seconds("2025-01-01 03:30:00"));
        assert_eq!(shown("Asia/Kolkata", "2025-01-01 09:00:00"), expected);
    }

    #[test]
    fn gaps_have_their_exact_bounds_whatever_their_length() {
        for (zone, wall, instant, start, end) in [
            (
                "America/New_York",
                "2025-03-09 02:30:00",
                "2025-03-09 07:00:00",
                "2025-03-09 02:00:00",
                "2025-03-09 03:00:00",
            ),
            (
                "Australia/Lord_Howe",
                "2025-10-05 02:29:59",
                "2025-10-04 15:30:00",
                "2025-10-05 02:00:00",
                "2025-10-05 02:30:00",
            ),
            (
                "Africa/Cairo",
                "2025-04-25 00:00:00",
                "2025-04-24 22:00:00",
                "2025-04-25 00:00:00",
                "2025-04-25 01:00:00",
            ),
            (
                "Pacific/Apia",
                "2011-12-30 12:00:00",
                "2011-12-30 10:00:00",
                "2011-12-30 00:00:00",
                "2011-12-31 00:00:00",
            ),
        ] {
            assert_eq!(shown(zone, wall), Shown::Never(shift(instant, start, end)), "{zone}");
        }
    }

    #[test]
    fn overlaps_have_their_exact_bounds_and_both_passes() {
        let overlap = shift("2025-11-02 06:00:00", "2025-11-02 01:00:00", "2025-11-02 02:00:00");
        for wall in ["2025-11-02 01:00:00", "2025-11-02 01:30:00", "2025-11-02 01:59:59"] {
            assert_eq!(shown("America/New_York", wall), Shown::Twice(overlap), "{wall}");
        }
        let wall = seconds("2025-11-02 01:30:00");
        assert_eq!(overlap.first_pass(wall), seconds("2025-11-02 05:30:00"));
        assert_eq!(overlap.second_pass(wall), seconds("2025-11-02 06:30:00"));
        assert_eq!(
            shown("America/New_York", "2025-11-02 02:00:00"),
            Shown::Once(seconds("2025-11-02 07:00:00"))
        );
    }
}
