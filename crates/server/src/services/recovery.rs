//! Brings back what dead processes held, and files what stopped ones could not.

mod buried;
mod orphans;
mod records;
mod siblings;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_LIMIT, RecoveryLimits};
use cogworker_core::time::EpochSeconds;
use tokio_util::sync::CancellationToken;
use tracing::error;

pub(crate) use self::buried::Doubtful;
pub(crate) use self::siblings::Siblings;
use super::fleet::period_among;
use super::line::Line;
use super::uncounted::Uncounted;
use crate::deaths::Deaths;
use crate::engine::Gauges;
use crate::outage::Outage;

/// A pass that an outage broke off is made again so soon (SCHED-14).
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How long a pass that is under way at a stop goes on.
const LAST_PASS: Duration = Duration::from_secs(2);
const PLACE: &str = "recovering jobs";

/// Looks for orphans at the start and every minute (REC-05, SCHED-11, SCHED-13); where there are more than
/// 200 processes, each less often.
#[derive(Clone)]
pub(crate) struct Recovery {
    /// Of its own: what dead processes held may be much, and must not hold up live jobs.
    pub(crate) line: Line,
    pub(crate) identity: Arc<str>,
    pub(crate) limits: RecoveryLimits,
    pub(crate) period: Duration,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
    pub(crate) deaths: Deaths,
    pub(crate) doubtful: Doubtful,
    pub(crate) uncounted: Arc<Uncounted>,
}

/// How far a pass came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Every dead process that is known was looked at.
    Completed,
    /// There was nothing to tell who might be dead (SCHED-15).
    Blind,
    /// Redis went away.
    BrokenOff,
}

impl Recovery {
    pub(crate) async fn run(self, stop: CancellationToken) {
        // Who left no registration is found by a walk through all keys: once, since that is long.
        let mut scanned = false;
        let mut burials_seen = None;
        loop {
            let scan = !scanned && !self.gauges.basic.load(Ordering::Relaxed);
            let mut pass = std::pin::pin!(self.pass(scan, &mut burials_seen));
            let pass = tokio::select! {
                biased;
                pass = &mut pass => pass,
                () = stop.cancelled() => {
                    // What the call under way buries is told to nobody but this process.
                    drop(tokio::time::timeout(LAST_PASS, pass).await);
                    return;
                }
            };
            let sleep = match pass {
                Pass::Completed => {
                    scanned |= scan;
                    self.gauges.recovered_once.store(true, Ordering::Release);
                    // Processes that started together do not all look at the same moment.
                    self.usual_pause().mul_f64(0.95 + fastrand::f64() / 10.0)
                }
                Pass::Blind => self.usual_pause(),
                Pass::BrokenOff => AGAIN_AFTER.min(self.period),
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    fn usual_pause(&self) -> Duration {
        period_among(self.gauges.processes.load(Ordering::Relaxed), self.period)
    }

    /// `burials_seen` is the time up to which dead was looked through for raw burials.
    async fn pass(&self, scan: bool, burials_seen: &mut Option<EpochSeconds>) -> Pass {
        match self.try_pass(scan, burials_seen).await {
            Ok(pass) => {
                self.outage.recovered(PLACE);
                pass
            }
            Err(failure) => {
                self.outage.report(PLACE, &failure);
                Pass::BrokenOff
            }
        }
    }

    /// Each part by itself: an error that is no outage is told and does not stop the others.
    async fn try_pass(
        &self,
        scan: bool,
        burials_seen: &mut Option<EpochSeconds>,
    ) -> Result<Pass, RedisError> {
        told(self.clear_doubts().await, || "look for jobs that a lost call buried".into())?;
        let dead = match self.candidates(scan).await? {
            Some(candidates) => told(self.dead_among(candidates).await, || "look for dead processes".into())?,
            None => None,
        };
        for identity in dead.iter().flatten() {
            let recovered = self.recover(identity).await;
            told(recovered, || format!("recover the jobs of {identity}"))?;
        }
        told(self.file_repeat_orphans().await, || "file jobs that were recovered too often".into())?;
        told(self.file_unsettled().await, || "file unsettled outcomes".into())?;
        told(self.complete_burials(burials_seen).await, || "complete entries in dead".into())?;
        told(self.prune_processes().await, || "take lapsed processes off the registry".into())?;
        Ok(if dead.is_some() { Pass::Completed } else { Pass::Blind })
    }

    async fn prune_processes(&self) -> Result<(), RedisError> {
        let registry = self.line.keys().processes();
        let identities = self.line.call(PLACE, |redis| scripts::list_members(redis, registry)).await?;
        for identities in identities.chunks(BATCH_LIMIT) {
            self.line.call(PLACE, |redis| scripts::prune_processes(redis, identities)).await?;
        }
        Ok(())
    }
}

/// Passes an outage on, and tells every other error here.
fn told<T>(result: Result<T, RedisError>, what: impl FnOnce() -> String) -> Result<Option<T>, RedisError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(failure) if failure.is_outage() => Err(failure),
        Err(failure) => {
            error!("failed to {}: failed to {failure}", what());
            Ok(None)
        }
    }
}
