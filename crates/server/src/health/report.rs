//! What `/health` shows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use super::Health;
use super::verdict::{Findings, State, Verdict};

/// The state of a worker, to be read by people and programs.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    identity: &'a str,
    version: &'static str,
    started_at: EpochSeconds,
    state: State,
    pub(crate) live: bool,
    pub(crate) ready: bool,
    pub(crate) reasons: Vec<String>,
    concurrency: usize,
    busy: usize,
    queues: &'a [String],
    last_beat_age_s: Option<f64>,
    last_poll_age_s: Option<f64>,
    fetch: FetchReport,
    redis: RedisReport,
}

#[derive(Debug, Serialize)]
struct FetchReport {
    state: &'static str,
    age_s: f64,
    /// Waits are no fetches: an idle worker's last one is long ago.
    last_success_age_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct RedisReport {
    away_since_s: Option<f64>,
}

impl<'a> Report<'a> {
    pub(super) fn new(health: &'a Health, findings: &Findings, verdict: Verdict) -> Self {
        let vitals = &findings.vitals;
        Self {
            identity: &health.identity,
            version: env!("CARGO_PKG_VERSION"),
            started_at: health.started_at,
            state: verdict.state,
            live: verdict.live,
            ready: verdict.ready,
            reasons: verdict.reasons,
            concurrency: health.concurrency,
            busy: health.gauges.busy.load(Ordering::Relaxed),
            queues: &health.queues,
            last_beat_age_s: vitals.beaten_ago.map(seconds),
            last_poll_age_s: findings.polled_ago.map(seconds),
            fetch: FetchReport {
                state: vitals.activity.name(),
                age_s: seconds(vitals.activity_age),
                last_success_age_s: vitals.fetched_ago.map(seconds),
            },
            redis: RedisReport { away_since_s: findings.away_for.map(seconds) },
        }
    }
}

impl Report<'_> {
    /// Whether its start is over: it takes jobs, or would if it were not told to take none.
    pub(crate) fn has_begun(&self) -> bool {
        self.ready || self.state == State::Quiet
    }
}

/// To the millisecond.
fn seconds(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1000.0
}
