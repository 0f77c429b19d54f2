//! When a cron comes: wall times turned into instants, where the clock is moved too.
//!
//! The rule (also in docs/periodic.md):
//!
//! - **Gap:** wall times that the clock skips are made up for by one run, at the first instant after the
//!   gap. A cron of every hour has nothing to make up for: its runs go on at their usual distance.
//! - **Overlap:** a wall time that is shown twice counts the first time only. A cron of every hour, or with
//!   repeating minutes (`*/5 0-6 * * *`), comes in both passes, as it would pause for an hour otherwise.

use super::calendar::Calendar;
use super::clock::{Clock, Shift, Shown};

/// A calendar seen on the clock of a zone. All times are whole seconds.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    pub(super) calendar: Calendar,
    pub(super) clock: Clock,
}

impl Slots {
    /// The first slot after an instant.
    pub(super) fn after(&self, instant: i64) -> Option<i64> {
        let mut wall = self.clock.wall(instant)?;
        // In the first pass of an overlap the second one is still ahead.
        let mut again = self.both_passes().then(|| self.overlap(wall)).flatten();
        again = again.filter(|overlap| instant < overlap.instant);
        loop {
            wall = self.calendar.after(wall)?;
            if let Some(overlap) = again.take_if(|overlap| wall >= overlap.end)
                && let Some(repeated) = self.calendar.at_or_after(overlap.start)
                && repeated < overlap.end
            {
                return Some(overlap.second_pass(repeated));
            }
            let slot = match self.clock.shown(wall)? {
                Shown::Once(slot) => slot,
                Shown::Twice(overlap) if overlap.first_pass(wall) > instant => overlap.first_pass(wall),
                Shown::Twice(overlap) if self.both_passes() => overlap.second_pass(wall),
                Shown::Twice(overlap) => {
                    wall = overlap.end - 1;
                    continue;
                }
                Shown::Never(gap) if self.makes_up() && gap.instant > instant => gap.instant,
                Shown::Never(gap) => {
                    wall = gap.end - 1;
                    continue;
                }
            };
            if slot > instant {
                return Some(slot);
            }
        }
    }

    /// The last slot at or before an instant.
    pub(super) fn at_or_before(&self, instant: i64) -> Option<i64> {
        let mut wall = self.clock.wall(instant)?;
        if let Some(overlap) = self.overlap(wall).filter(|overlap| instant >= overlap.instant) {
            if self.both_passes()
                && let Some(repeated) = self.calendar.at_or_before(wall)
                && repeated >= overlap.start
            {
                return Some(overlap.second_pass(repeated));
            }
            // All of the first pass is behind, even what the clock is going to show again.
            wall = overlap.end - 1;
        }
        wall = self.calendar.at_or_before(wall)?;
        loop {
            let slot = match self.clock.shown(wall)? {
                Shown::Once(slot) => slot,
                Shown::Twice(overlap) if self.both_passes() && overlap.second_pass(wall) <= instant => {
                    overlap.second_pass(wall)
                }
                Shown::Twice(overlap) => overlap.first_pass(wall),
                Shown::Never(gap) if self.makes_up() => gap.instant,
                Shown::Never(gap) => {
                    wall = self.calendar.before(gap.start)?;
                    continue;
                }
            };
            if slot <= instant {
                return Some(slot);
            }
            wall = self.calendar.before(wall)?;
        }
    }

    fn overlap(&self, wall: i64) -> Option<Shift> {
        match self.clock.shown(wall)? {
            Shown::Twice(overlap) => Some(overlap),
            Shown::Once(_) | Shown::Never(_) => None,
        }
    }

    fn both_passes(&self) -> bool {
        self.calendar.every_hour || self.calendar.every_minutes
    }

    fn makes_up(&self) -> bool {
        !self.calendar.every_hour
    }
}
