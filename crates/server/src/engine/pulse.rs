//! Signs of life of the engine, written by it without a lock and read from other threads.
//!
//! All times are milliseconds since the pulse's own start; 0 is never. Whoever writes or reads
//! gives the present moment, so that what follows from it can be tested without waiting.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::runner::NO_CLASS;
use super::waits::MOST_WAITS;

/// What the fetcher is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    /// The engine has not begun.
    NotBegun,
    /// A fetch is under way.
    Fetching,
    /// Every idle queue is waited on.
    Waiting,
    /// Every slot is busy.
    Full,
    /// It was told to take no jobs.
    Quiet,
    /// Every queue is paused.
    Paused,
    /// Others may take this process for dead, so it has stepped back.
    SteppedBack,
    /// Held off for a moment after an error.
    HoldingOff,
    /// Outcomes must be settled first.
    Settling,
    /// Nothing is under way though something should be.
    Idle,
}

impl Activity {
    const ALL: [Self; 10] = [
        Self::NotBegun,
        Self::Fetching,
        Self::Waiting,
        Self::Full,
        Self::Quiet,
        Self::Paused,
        Self::SteppedBack,
        Self::HoldingOff,
        Self::Settling,
        Self::Idle,
    ];

    /// As others read it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NotBegun => "not_begun",
            Self::Fetching => "fetching",
            Self::Waiting => "waiting",
            Self::Full => "full",
            Self::Quiet => "quiet",
            Self::Paused => "paused",
            Self::SteppedBack => "stepped_back",
            Self::HoldingOff => "holding_off",
            Self::Settling => "settling",
            Self::Idle => "idle",
        }
    }
}

/// The engine's signs of life.
#[derive(Debug)]
pub(crate) struct Pulse {
    epoch: Instant,
    /// The engine's thread got to run something; the engine's loop turned (0 while it has none).
    thread_turned: AtomicU64,
    loop_turned: AtomicU64,
    /// An [`Activity`] in the lowest byte and its beginning above, so that both change at once.
    activity: AtomicU64,
    /// The first failed fetch since the last that succeeded, and that one.
    failing: AtomicU64,
    fetched: AtomicU64,
    beaten: AtomicU64,
    /// Since when the shared connection does not stand; 0 while it does.
    disconnected: AtomicU64,
    /// When the round of each wait that is under way began, and how long Redis may block a round.
    waits: [AtomicU64; MOST_WAITS],
    wait_block: AtomicU64,
    /// The class whose code is on the engine's thread, plus one; 0 is none.
    polling: AtomicUsize,
    classes: OnceLock<Vec<&'static str>>,
}

/// What a [`Pulse`] tells at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vitals {
    /// For how long the engine's thread or loop has not turned.
    pub(crate) stalled_for: Duration,
    /// The class whose code is on the engine's thread.
    pub(crate) polling: Option<&'static str>,
    pub(crate) activity: Activity,
    /// How long the activity has lasted; of waits, the age of the oldest round.
    pub(crate) activity_age: Duration,
    /// How long a wait has gone on beyond the time that Redis was to block it.
    pub(crate) overdue: Duration,
    pub(crate) failing_for: Option<Duration>,
    pub(crate) fetched_ago: Option<Duration>,
    pub(crate) beaten_ago: Option<Duration>,
    /// For how long there has been no connection to Redis.
    pub(crate) disconnected_for: Option<Duration>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            thread_turned: AtomicU64::new(1),
            loop_turned: AtomicU64::default(),
            activity: AtomicU64::new(pack(Activity::NotBegun, 1)),
            failing: AtomicU64::default(),
            fetched: AtomicU64::default(),
            beaten: AtomicU64::default(),
            disconnected: AtomicU64::new(1),
            waits: Default::default(),
            wait_block: AtomicU64::default(),
            polling: AtomicUsize::default(),
            classes: OnceLock::new(),
        }
    }
}

impl Pulse {
    /// The present moment.
    pub(crate) fn now(&self) -> u64 {
        millis(self.epoch.elapsed()) + 1
    }

    /// What takes too long is counted from now on.
    pub(crate) fn begin(&self, now: u64) {
        self.thread_turned(now);
        self.activity.store(pack(Activity::NotBegun, now), Ordering::Relaxed);
        self.disconnected.store(now, Ordering::Relaxed);
    }

    pub(crate) fn thread_turned(&self, now: u64) {
        self.thread_turned.store(now, Ordering::Relaxed);
    }

    pub(crate) fn loop_turned(&self, now: u64) {
        self.loop_turned.store(now, Ordering::Relaxed);
    }

    /// The loop is over, so it is not expected to turn.
    pub(crate) fn loop_ended(&self) {
        self.loop_turned.store(0, Ordering::Relaxed);
    }

    /// Notes what the fetcher is doing; for how long it has been doing that.
    pub(crate) fn doing(&self, activity: Activity, now: u64) -> Duration {
        let (before, begun) = unpack(self.activity.load(Ordering::Relaxed));
        if before == activity {
            return Duration::from_millis(now.saturating_sub(begun));
        }
        self.activity.store(pack(activity, now), Ordering::Relaxed);
        Duration::ZERO
    }

    /// A fetch ended.
    pub(crate) fn fetched(&self, well: bool, now: u64) {
        if well {
            self.fetched.store(now, Ordering::Relaxed);
            self.failing.store(0, Ordering::Relaxed);
        } else if self.failing.load(Ordering::Relaxed) == 0 {
            self.failing.store(now, Ordering::Relaxed);
        }
    }

    /// A heartbeat reached Redis.
    pub(crate) fn beaten(&self, now: u64) {
        self.beaten.store(now, Ordering::Relaxed);
    }

    /// Whether the shared connection stands.
    pub(crate) fn connected(&self, connected: bool, now: u64) {
        if connected {
            self.disconnected.store(0, Ordering::Relaxed);
        } else if self.disconnected.load(Ordering::Relaxed) == 0 {
            self.disconnected.store(now, Ordering::Relaxed);
        }
    }

    /// Redis ends each round of a wait after this time.
    pub(crate) fn waits_block(&self, block: Duration) {
        self.wait_block.store(millis(block), Ordering::Relaxed);
    }

    pub(crate) fn wait_began(&self, queue: usize, now: u64) {
        if let Some(wait) = self.waits.get(queue) {
            wait.store(now, Ordering::Relaxed);
        }
    }

    pub(crate) fn wait_ended(&self, queue: usize) {
        self.wait_began(queue, 0);
    }

    /// The classes, by the index that [`polling`](Self::polling) takes.
    pub(crate) fn name_classes(&self, classes: Vec<&'static str>) {
        let _ = self.classes.set(classes);
    }

    /// Notes whose code runs on the engine's thread until the guard is dropped.
    pub(crate) fn polling(&self, class: usize) -> Polling<'_> {
        let mark = if class == NO_CLASS { 0 } else { class + 1 };
        self.polling.store(mark, Ordering::Relaxed);
        Polling(&self.polling)
    }

    pub(crate) fn vitals(&self, now: u64) -> Vitals {
        let since = |moment: u64| Duration::from_millis(now.saturating_sub(moment));
        let maybe = |moment: &AtomicU64| Some(moment.load(Ordering::Relaxed)).filter(|at| *at != 0);
        let (activity, begun) = unpack(self.activity.load(Ordering::Relaxed));
        let stalled_for = maybe(&self.thread_turned).into_iter().chain(maybe(&self.loop_turned)).min();
        let oldest_wait = self.waits.iter().filter_map(maybe).min();
        let block = Duration::from_millis(self.wait_block.load(Ordering::Relaxed));
        // A wait that should be under way and never began is as bad as one that never ends.
        let waiting_since = oldest_wait.or((activity == Activity::Waiting).then_some(begun));
        let polled = self.polling.load(Ordering::Relaxed).checked_sub(1);
        Vitals {
            stalled_for: stalled_for.map(since).unwrap_or_default(),
            polling: polled.and_then(|class| self.classes.get()?.get(class).copied()),
            activity,
            activity_age: since(match (activity, oldest_wait) {
                (Activity::Waiting, Some(oldest)) => oldest,
                _ => begun,
            }),
            overdue: waiting_since.map(since).unwrap_or_default().saturating_sub(block),
            failing_for: maybe(&self.failing).map(since),
            fetched_ago: maybe(&self.fetched).map(since),
            beaten_ago: maybe(&self.beaten).map(since),
            disconnected_for: maybe(&self.disconnected).map(since),
        }
    }
}

/// The code of a class is on the engine's thread.
pub(crate) struct Polling<'a>(&'a AtomicUsize);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn pack(activity: Activity, begun: u64) -> u64 {
    (begun << 8) | activity as u64
}

fn unpack(packed: u64) -> (Activity, u64) {
    let index = usize::try_from(packed & 0xff).unwrap_or(usize::MAX);
    (Activity::ALL.get(index).copied().unwrap_or(Activity::NotBegun), packed >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn each_activity_survives_packing() {
        for activity in Activity::ALL {
            assert_eq!(unpack(pack(activity, 1 << 40)), (activity, 1 << 40));
        }
    }

    #[test]
    fn an_activity_that_goes_on_keeps_its_beginning() {
        let pulse = Pulse::default();
        pulse.doing(Activity::Fetching, 1_000);
        pulse.doing(Activity::Fetching, 5_000);
        let vitals = pulse.vitals(8_000);
        assert_eq!((vitals.activity, vitals.activity_age), (Activity::Fetching, seconds(7)));
        pulse.doing(Activity::Full, 9_000);
        assert_eq!(pulse.vitals(9_000).activity_age, Duration::ZERO);
    }

    #[test]
    fn the_slower_of_thread_and_loop_decides_how_long_it_has_stalled() {
        let pulse = Pulse::default();
        pulse.thread_turned(5_000);
        assert_eq!(pulse.vitals(6_000).stalled_for, seconds(1), "there is no loop yet");
        pulse.loop_turned(2_000);
        assert_eq!(pulse.vitals(6_000).stalled_for, seconds(4));
        pulse.loop_ended();
        assert_eq!(pulse.vitals(6_000).stalled_for, seconds(1));
    }

    #[test]
    fn the_oldest_round_tells_whether_a_wait_is_overdue() {
        let pulse = Pulse::default();
        pulse.waits_block(seconds(10));
        pulse.doing(Activity::Waiting, 1_000);
        pulse.wait_began(0, 2_000);
        pulse.wait_began(1, 11_000);
        let vitals = pulse.vitals(12_000);
        assert_eq!((vitals.activity_age, vitals.overdue), (seconds(10), Duration::ZERO));
        assert_eq!(pulse.vitals(15_000).overdue, seconds(3));
        pulse.wait_ended(0);
        assert_eq!(pulse.vitals(15_000).overdue, Duration::ZERO);
    }

    #[test]
    fn waits_that_never_began_are_overdue_too() {
        let pulse = Pulse::default();
        pulse.waits_block(seconds(10));
        pulse.doing(Activity::Waiting, 1_000);
        assert_eq!(pulse.vitals(13_000).overdue, seconds(2));
    }

    #[test]
    fn fetching_has_failed_since_its_first_failure_until_a_success() {
        let pulse = Pulse::default();
        assert_eq!(pulse.vitals(1_000).failing_for, None);
        pulse.fetched(false, 1_000);
        pulse.fetched(false, 3_000);
        assert_eq!(pulse.vitals(4_000).failing_for, Some(seconds(3)));
        pulse.fetched(true, 4_000);
        let vitals = pulse.vitals(6_000);
        assert_eq!((vitals.failing_for, vitals.fetched_ago), (None, Some(seconds(2))));
    }

    #[test]
    fn the_connection_is_gone_since_it_was_first_missed() {
        let pulse = Pulse::default();
        assert_eq!(pulse.vitals(1_001).disconnected_for, Some(seconds(1)), "not there yet");
        pulse.connected(true, 2_000);
        assert_eq!(pulse.vitals(3_000).disconnected_for, None);
        pulse.connected(false, 4_000);
        pulse.connected(false, 5_000);
        assert_eq!(pulse.vitals(6_000).disconnected_for, Some(seconds(2)));
        pulse.connected(true, 7_000);
        assert_eq!(pulse.vitals(8_000).disconnected_for, None);
    }

    #[test]
    fn the_class_on_the_engines_thread_is_named_while_it_is_there() {
        let pulse = Pulse::default();
        pulse.name_classes(vec!["A", "B"]);
        let polling = pulse.polling(1);
        assert_eq!(pulse.vitals(1).polling, Some("B"));
        drop(polling);
        assert_eq!(pulse.vitals(1).polling, None);
        let _polling = pulse.polling(NO_CLASS);
        assert_eq!(pulse.vitals(1).polling, None);
    }
}
