//! For how long others surely leave this process's jobs alone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cogworker_core::formats::PRESENCE_TTL;

/// How much earlier than others may act a process stops by itself: its jobs are asked to end,
/// have a second for it, and are then aborted.
const MARGIN: Duration = Duration::from_secs(10);

/// Renewed by each good heartbeat. Once it has lapsed, other processes may take this one for dead
/// and run its jobs: it must not run them any longer.
#[derive(Debug)]
pub(crate) struct Lease {
    base: Instant,
    length: Duration,
    /// How long it is good for when only the presence tells of this process.
    presence: Duration,
    /// How long others wait without a beat.
    others_wait: Duration,
    /// Milliseconds from `base`.
    good_until: AtomicU64,
    /// A beat came so late that others may have acted before it.
    missed: AtomicBool,
}

impl Lease {
    /// Others wait until the presence is gone and the last beat is older than `orphan_threshold`.
    pub(crate) fn new(orphan_threshold: Duration, presence_ttl: Duration) -> Self {
        let others_wait = orphan_threshold.max(presence_ttl);
        let until = |wait: Duration| wait.saturating_sub(MARGIN).max(wait / 2);
        let (length, presence) = (until(others_wait), until(presence_ttl));
        let good_until = AtomicU64::new(millis(length));
        let missed = AtomicBool::new(false);
        Self { base: Instant::now(), length, presence, others_wait, good_until, missed }
    }

    /// A beat that was sent at `sent_at` arrived. Without its time on record, others go by the presence
    /// alone, and wait for less long.
    pub(crate) fn renew(&self, sent_at: Instant, on_record: bool) {
        let length = if on_record { self.length } else { self.presence.min(self.length) };
        let until = sent_at.saturating_duration_since(self.base).saturating_add(length);
        let before = self.good_until.fetch_max(millis(until), Ordering::AcqRel);
        // The beat before this one was `length` earlier than what it was good for.
        let silent = millis(until).saturating_sub(before);
        if silent >= millis(self.others_wait) {
            self.missed.store(true, Ordering::Release);
        }
    }

    /// True once after a silence in which others may have taken this process for dead, though a
    /// beat has come since.
    pub(crate) fn take_missed(&self) -> bool {
        self.missed.swap(false, Ordering::AcqRel)
    }

    /// When it lapses without a further beat.
    pub(crate) fn good_until(&self) -> Instant {
        self.base + Duration::from_millis(self.good_until.load(Ordering::Acquire))
    }

    /// How long it holds without a beat.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Default for Lease {
    fn default() -> Self {
        Self::new(PRESENCE_TTL, PRESENCE_TTL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn it_ends_before_others_may_take_the_jobs() {
        assert_eq!(Lease::new(5 * MINUTE, MINUTE).length(), Duration::from_secs(290));
        assert_eq!(
            Lease::new(MINUTE / 6, MINUTE).length(),
            Duration::from_secs(50),
            "the presence counts too"
        );
        assert_eq!(Lease::new(MINUTE / 60, MINUTE / 60).length(), Duration::from_millis(500));
    }

    #[test]
    fn a_beat_counts_from_when_it_was_sent_and_never_shortens_the_lease() {
        let lease = Lease::new(5 * MINUTE, MINUTE);
        let sent = lease.base + MINUTE;
        lease.renew(sent, true);
        assert_eq!(lease.good_until(), sent + lease.length());
        lease.renew(lease.base, true);
        assert_eq!(lease.good_until(), sent + lease.length());
        assert!(!lease.take_missed());
    }

    #[test]
    fn a_beat_whose_time_is_not_on_record_is_good_for_the_presence_alone() {
        let lease = Lease::new(5 * MINUTE, MINUTE);
        let sent = lease.base + 5 * MINUTE;
        lease.renew(sent, false);
        assert_eq!(lease.good_until(), sent + Duration::from_secs(50));
    }

    #[test]
    fn a_beat_after_a_silence_in_which_others_may_have_acted_is_noticed_once() {
        let lease = Lease::new(5 * MINUTE, MINUTE);
        lease.renew(lease.base + Duration::from_secs(299), true);
        assert!(!lease.take_missed(), "they wait for 300 s");
        lease.renew(lease.base + Duration::from_secs(299 + 300), true);
        assert!(lease.take_missed());
        assert!(!lease.take_missed());
    }
}
