//! Redis away is told once, not once for each call that fails.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cogworker_core::redis::RedisError;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tracing::{error, info, warn};

use crate::counted::counted;

/// While an outage lasts, a summary is logged so often (OUT-03).
const SUMMARY_PERIOD: Duration = Duration::from_secs(60);

/// A place that goes on failing does so again within this time: a heartbeat comes every 5 s and
/// waits 5 s for its reply. One that has not may never be tried again, as its job has ended.
const STILL_FAILING: Duration = Duration::from_secs(15);

/// The place of what fails before there has been a connection.
pub(crate) const CONNECTING: &str = "connecting";

/// The outages of one process: one line at the start, a summary a minute, one line at the end,
/// whichever places notice (OUT-03, LOG-12). Redis at its memory limit is told like one, as it too
/// refuses call after call until somebody helps. Other errors are logged in full every time (OUT-04).
#[derive(Debug, Default)]
pub(crate) struct Outage {
    current: Mutex<Option<Current>>,
    over: Notify,
}

/// An outage that lasts.
#[derive(Debug)]
struct Current {
    begun: Instant,
    summarised: Instant,
    failures: u64,
    /// When each place failed last.
    failing: HashMap<&'static str, Instant>,
    /// When a call worked for the first time after the last failure.
    answered: Option<Instant>,
}

/// What is worth a line.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Begun,
    Lasts { seconds: u64, failures: u64 },
    Over { lasted: Duration, failures: u64 },
}

impl Outage {
    /// `place` failed ("fetching jobs").
    pub(crate) fn report(&self, place: &'static str, failure: &RedisError) {
        if failure.is_outage() || matches!(failure, RedisError::OutOfMemory(_)) {
            self.note(place, place, failure);
        } else {
            error!("{place}: failed to {failure}");
        }
    }

    /// At the start no connection can be made; `doing` names the server.
    pub(crate) fn report_start(&self, doing: &str, failure: &RedisError) {
        self.note(CONNECTING, doing, failure);
    }

    fn note(&self, place: &'static str, doing: &str, failure: &RedisError) {
        match self.failed(place, Instant::now()) {
            Some(News::Begun) => match failure {
                RedisError::OutOfMemory(_) => {
                    error!("redis is full, trying again until it takes more ({doing}: failed to {failure})");
                }
                RedisError::Auth(_) => error!(
                    "redis refuses the credentials, trying again until it takes them ({doing}: failed to {failure})"
                ),
                _ => warn!("redis is away, trying again until it is back ({doing}: failed to {failure})"),
            },
            Some(News::Lasts { seconds, failures }) => {
                let still = match failure {
                    RedisError::OutOfMemory(_) => "is still full",
                    RedisError::Auth(_) => "still refuses the credentials",
                    _ => "is still away",
                };
                let calls = counted(failures, "call", "calls");
                warn!("redis {still} after {seconds} s, {calls} failed (last, {doing}: failed to {failure})");
            }
            Some(News::Over { .. }) | None => {}
        }
    }

    /// How long the outage has lasted, if there is one.
    pub(crate) fn lasts_for(&self) -> Option<Duration> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().map(|outage| outage.begun.elapsed())
    }

    /// `place` worked. The outage is over when no place is failing any more: each that failed has
    /// worked since, or has not failed again for so long that it is no longer tried.
    pub(crate) fn recovered(&self, place: &'static str) {
        if let Some(News::Over { lasted, failures }) = self.worked(place, Instant::now()) {
            let (lasted, calls) = (lasted.as_secs_f64(), counted(failures, "call", "calls"));
            info!("redis is back after {lasted:.1} s, {calls} failed meanwhile");
            self.over.notify_waiters();
        }
    }

    /// Completes when an outage that began or lasts from now on is over.
    pub(crate) fn over(&self) -> Notified<'_> {
        self.over.notified()
    }

    /// True from the first failure until the end is told.
    pub(crate) fn is_ongoing(&self) -> bool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn failed(&self, place: &'static str, now: Instant) -> Option<News> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = current.is_none();
        let outage = current.get_or_insert_with(|| Current {
            begun: now,
            summarised: now,
            failures: 0,
            failing: HashMap::new(),
            answered: None,
        });
        outage.failures += 1;
        outage.failing.insert(place, now);
        outage.answered = None;
        if begins {
            return Some(News::Begun);
        }
        if now.saturating_duration_since(outage.summarised) < SUMMARY_PERIOD {
            return None;
        }
        outage.summarised = now;
        let seconds = now.saturating_duration_since(outage.begun).as_secs();
        Some(News::Lasts { seconds, failures: outage.failures })
    }

    fn worked(&self, place: &'static str, now: Instant) -> Option<News> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let outage = current.as_mut()?;
        let answered = *outage.answered.get_or_insert(now);
        outage.failing.remove(place);
        outage.failing.retain(|_, last| now.saturating_duration_since(*last) < STILL_FAILING);
        if !outage.failing.is_empty() {
            return None;
        }
        let lasted = answered.saturating_duration_since(outage.begun);
        let failures = outage.failures;
        *current = None;
        Some(News::Over { lasted, failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outage and a clock.
    fn start() -> (Outage, impl Fn(f64) -> Instant) {
        let begun = Instant::now();
        (Outage::default(), move |seconds| begun + Duration::from_secs_f64(seconds))
    }

    fn over(seconds: f64, failures: u64) -> Option<News> {
        Some(News::Over { lasted: Duration::from_secs_f64(seconds), failures })
    }

    #[test]
    fn an_outage_is_told_once_whichever_places_notice_and_once_when_all_work_out_03_log_12() {
        let (outage, at) = start();
        assert_eq!(outage.worked("fetching", at(0.0)), None);
        assert_eq!(outage.failed("fetching", at(1.0)), Some(News::Begun));
        assert_eq!(outage.failed("settling", at(1.5)), None);
        assert_eq!(outage.failed("fetching", at(2.0)), None);
        assert_eq!(outage.worked("fetching", at(4.0)), None);
        assert_eq!(outage.worked("settling", at(4.5)), over(3.0, 3));
        assert_eq!(outage.worked("settling", at(5.0)), None);
        assert_eq!(outage.failed("settling", at(6.0)), Some(News::Begun));
    }

    #[test]
    fn a_long_outage_is_summarised_once_a_minute_out_03() {
        let (outage, at) = start();
        let told: Vec<Option<News>> =
            (0..=120).map(|s| outage.failed("fetching", at(f64::from(s)))).collect();
        assert_eq!(told[0], Some(News::Begun));
        assert_eq!(told[60], Some(News::Lasts { seconds: 60, failures: 61 }));
        assert_eq!(told[120], Some(News::Lasts { seconds: 120, failures: 121 }));
        assert_eq!(told.iter().flatten().count(), 3);
    }

    #[test]
    fn a_place_that_is_not_tried_again_keeps_no_outage_alive_log_12() {
        let (outage, at) = start();
        // The write that would take a running job off the board, of a job that has ended since.
        assert_eq!(outage.failed("showing running jobs", at(0.0)), Some(News::Begun));
        assert_eq!(outage.failed("the heartbeat", at(2.0)), None);
        assert_eq!(outage.worked("the heartbeat", at(7.0)), None);
        assert_eq!(outage.worked("the heartbeat", at(12.0)), None);
        assert_eq!(outage.worked("the heartbeat", at(17.0)), over(7.0, 2));
        assert_eq!(outage.failed("the heartbeat", at(400.0)), Some(News::Begun));
    }

    #[test]
    fn a_replica_that_answers_reads_and_refuses_writes_is_one_outage_out_03() {
        let (outage, at) = start();
        assert_eq!(outage.failed("settling a job", at(0.0)), Some(News::Begun));
        for second in 1..60 {
            assert_eq!(outage.worked("settling jobs", at(f64::from(second))), None);
            assert_eq!(outage.worked("fetching jobs", at(f64::from(second))), None);
            if second % 5 == 0 {
                assert_eq!(outage.failed("settling a job", at(f64::from(second) + 0.5)), None);
            }
        }
        assert_eq!(outage.worked("settling jobs", at(60.0)), None);
        assert_eq!(outage.worked("settling jobs", at(75.0)), over(56.0, 12));
    }
}
