//! Redis away is told once, not once for each call that fails.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cogworker_core::redis::RedisError;
use tracing::{error, info, warn};

/// While an outage lasts, a summary is logged so often (OUT-03).
const SUMMARY_PERIOD: Duration = Duration::from_secs(60);

/// The outages of one process: one line at the start, a summary a minute, one line at the end,
/// whichever places notice (OUT-03, LOG-12). Errors that are no outage are logged in full every
/// time (OUT-04).
#[derive(Debug, Default)]
pub(crate) struct Outage {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failing: HashSet<&'static str>,
    begun: Option<Instant>,
    summarised: Option<Instant>,
    failures: u64,
}

impl Outage {
    /// `place` failed ("fetching jobs").
    pub(crate) fn report(&self, place: &'static str, failure: &RedisError) {
        if !failure.is_outage() {
            error!("{place}: failed to {failure}");
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures += 1;
        state.failing.insert(place);
        let now = Instant::now();
        match state.begun {
            None => {
                state.begun = Some(now);
                state.summarised = Some(now);
                warn!("redis is away, trying again until it is back ({place}: failed to {failure})");
            }
            Some(begun) if state.summarised.is_none_or(|at| now - at >= SUMMARY_PERIOD) => {
                state.summarised = Some(now);
                warn!(
                    "redis is still away after {} s, {} calls failed (last, {place}: failed to {failure})",
                    (now - begun).as_secs(),
                    state.failures
                );
            }
            Some(_) => {}
        }
    }

    /// `place` worked. The outage is over when every place that failed works again.
    pub(crate) fn recovered(&self, place: &'static str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(begun) = state.begun else { return };
        state.failing.remove(place);
        if state.failing.is_empty() {
            info!(
                "redis is back after {:.1} s, {} calls failed meanwhile",
                begun.elapsed().as_secs_f64(),
                state.failures
            );
            *state = State::default();
        }
    }
}
