//! What a ticker remembers of an entry.

use std::time::{Duration, Instant};

/// A slot that is blocked by a run is kept for so long, three beats (TICK-25).
const GRACE: Duration = Duration::from_secs(15);
/// The first pause after a failure; each further one is twice as long, up to the last (TICK-22).
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

#[derive(Debug, Default)]
pub(super) struct EntryState {
    /// The newest slot that is dealt with.
    done: Option<i64>,
    /// The slot that waits for a run to end, and since when.
    blocked: Option<(i64, Instant)>,
    failures: u32,
    not_before: Option<Instant>,
}

/// What to do about an entry now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Fire,
    Rest,
}

impl EntryState {
    /// Whether the newest slot is still to be fired.
    pub(super) fn step(&self, slot: i64, now: Instant) -> Step {
        let dealt_with = self.done.is_some_and(|done| done >= slot);
        let pausing = self.not_before.is_some_and(|at| now < at);
        if dealt_with || pausing { Step::Rest } else { Step::Fire }
    }

    /// The slot is fired, lost or skipped.
    pub(super) fn done(&mut self, slot: i64) {
        *self = Self { done: Some(slot), ..Self::default() };
    }

    /// A run holds the entry: the slot waits.
    pub(super) fn blocked(&mut self, slot: i64, now: Instant) {
        if self.blocked.is_none_or(|(waiting, _)| waiting != slot) {
            self.blocked = Some((slot, now));
        }
    }

    /// True when the slot has waited for so long that it is skipped if a run still holds the entry
    /// (TICK-26).
    pub(super) fn is_last_look(&self, slot: i64, now: Instant) -> bool {
        self.blocked
            .is_some_and(|(waiting, since)| waiting == slot && now.saturating_duration_since(since) >= GRACE)
    }

    /// It failed by itself; how long it is left alone.
    pub(super) fn failed(&mut self, now: Instant) -> Duration {
        let (first, longest) = PAUSES;
        let pause = first.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + pause);
        pause
    }

    /// True while it is to be looked at again before its next slot.
    pub(super) fn is_waiting(&self) -> bool {
        self.blocked.is_some() || self.not_before.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_followed_by_ever_longer_pauses_until_one_works_tick_22() {
        let (mut state, mut now) = (EntryState::default(), Instant::now());
        for expected in [5, 10, 20, 40, 80, 160, 300, 300] {
            assert_eq!(state.step(100, now), Step::Fire);
            let pause = state.failed(now);
            assert_eq!(pause.as_secs(), expected);
            assert_eq!(state.step(100, now + pause - Duration::from_millis(1)), Step::Rest);
            now += pause;
        }
        state.done(100);
        assert_eq!((state.step(100, now), state.step(160, now)), (Step::Rest, Step::Fire));
        assert_eq!(state.failed(now).as_secs(), 5);
    }

    #[test]
    fn a_blocked_slot_is_kept_for_a_while_before_its_last_look_tick_25_tick_26() {
        let (mut state, now) = (EntryState::default(), Instant::now());
        assert!(!state.is_last_look(100, now + GRACE), "nothing has blocked it");
        state.blocked(100, now);
        state.blocked(100, now + GRACE / 2);
        assert!(!state.is_last_look(100, now + GRACE - Duration::from_millis(1)));
        assert!(state.is_last_look(100, now + GRACE) && state.is_waiting());
        assert!(!state.is_last_look(160, now + GRACE), "the next slot has a grace of its own");
        state.done(100);
        assert_eq!((state.step(100, now + GRACE), state.is_waiting()), (Step::Rest, false));
    }
}
