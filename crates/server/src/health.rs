//! Health checks: what a worker tells about itself over HTTP (`docs/operations.md`).
//!
//! The engine leaves signs of life in its [`Pulse`]; [`verdict`] judges them; [`report`] adds what
//! people want to know; [`http`] answers, on the [watchdog](crate::services::watchdog)'s thread.

pub(crate) mod http;
mod limits;
mod report;
mod verdict;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cogworker_core::time::EpochSeconds;
use tokio_util::sync::CancellationToken;

use self::http::{Check, Checks};
pub use self::limits::HealthLimits;
pub(crate) use self::report::Report;
pub(crate) use self::verdict::stall_reason;
use self::verdict::{Findings, Verdict};
use crate::config::Config;
use crate::engine::{Gauges, Pulse};
use crate::outage::Outage;
use crate::services::poller::LastPoll;

/// Everything that the state of a worker is told from.
#[derive(Debug)]
pub(crate) struct Health {
    pub(crate) identity: Arc<str>,
    pub(crate) concurrency: usize,
    pub(crate) queues: Vec<String>,
    pub(crate) started_at: EpochSeconds,
    /// The application is still being built: there is no engine yet.
    building: AtomicBool,
    pub(crate) limits: HealthLimits,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
    pub(crate) last_poll: Arc<LastPoll>,
    pub(crate) stop: CancellationToken,
}

impl Health {
    pub(crate) fn new(
        config: &Config,
        identity: Arc<str>,
        limits: HealthLimits,
        stop: CancellationToken,
    ) -> Self {
        Self {
            identity,
            concurrency: config.concurrency,
            queues: config.weighted_queues().into_iter().map(|queue| queue.name).collect(),
            started_at: EpochSeconds::now(),
            building: AtomicBool::new(true),
            limits,
            pulse: Arc::default(),
            gauges: Arc::default(),
            outage: Arc::default(),
            last_poll: Arc::default(),
            stop,
        }
    }

    pub(crate) fn is_building(&self) -> bool {
        self.building.load(Ordering::Acquire)
    }

    /// The application was built: from now on the engine is to turn.
    pub(crate) fn built(&self) {
        self.pulse.begin(self.pulse.now());
        self.building.store(false, Ordering::Release);
    }

    /// How the worker is now.
    pub(crate) fn report(&self) -> Report<'_> {
        let vitals = self.pulse.vitals(self.pulse.now());
        let findings = Findings {
            // An outage is known once a call has failed, a lost connection before.
            away_for: self.outage.lasts_for().max(vitals.disconnected_for),
            vitals,
            building: self.is_building(),
            stopping: self.stop.is_cancelled(),
            quiet: self.gauges.quiet.load(Ordering::Relaxed),
            polled_ago: self.last_poll.age(),
        };
        let verdict = Verdict::of(&findings, &self.limits);
        Report::new(self, &findings, verdict)
    }
}

impl Checks for Health {
    fn check(&self) -> Check {
        let report = self.report();
        let json = serde_json::to_string(&report).unwrap_or_default();
        Check { live: report.live, ready: report.ready, reasons: report.reasons, json }
    }
}
