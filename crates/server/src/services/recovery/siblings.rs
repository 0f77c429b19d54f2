//! Jobs of workers that a supervisor saw end: they need not wait until nobody has heard of those for long.
//!
//! The first time that a process took a job down with it, the job goes back at once. A job that was recovered
//! before is suspect: it may be what ends its processes. Suspects go back one by one, those first that were in
//! most crashes, each only when the one before has ended or had [`SUSPECT_LIMIT`]. So the culprit mostly takes down
//! nobody but itself on its way into dead, and the others end (and with that their counting begins anew).

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_core::keys::Key;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, ListEnd, RecoveryLimits};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::orphans::Tally;
use super::{PLACE, Recovery};
use crate::supervised::{Report, Reports};

/// A call that the process sent in its last moment may be carried out after the first look at its list.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What an outage broke off is begun again so soon.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a suspect has to end before the next one goes back.
const SUSPECT_LIMIT: Duration = Duration::from_secs(2);

/// All suspects of a process are back after about so long, however many.
const SUSPECTS_LIMIT: Duration = Duration::from_secs(60);

/// How often a suspect is looked at.
const SUSPECT_STEP: Duration = Duration::from_millis(50);

/// Recovers what dead siblings held, as the supervisor tells of them.
#[derive(Clone)]
pub(crate) struct Siblings {
    pub(crate) recovery: Recovery,
    pub(crate) dead: Arc<Mutex<UnboundedReceiver<String>>>,
    pub(crate) reports: Reports,
}

impl Siblings {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut dead = self.dead.lock().await;
        // The suspects of one must not hold up the jobs of another.
        let mut recoveries = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(identity) = dead.recv() => {
                    self.reports.send(&Report::Recovers { identity: identity.clone() });
                    let this = self.clone();
                    recoveries.spawn(async move { this.recover(identity).await });
                }
                Some(_) = recoveries.join_next() => {}
                else => return,
            }
        }
    }

    async fn recover(&self, identity: String) {
        let mut looks = 0;
        while looks < 2 {
            match self.recovery.recover_sibling(&identity).await {
                Ok(()) => {
                    self.recovery.outage.recovered(PLACE);
                    looks += 1;
                    tokio::time::sleep(LAST_LOOK).await;
                }
                Err(failure) => {
                    self.recovery.outage.report(PLACE, &failure);
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
            }
        }
        self.reports.send(&Report::Recovered { identity });
    }
}

impl Recovery {
    /// Empties the list of a process that certainly has ended.
    async fn recover_sibling(&self, identity: &str) -> Result<(), RedisError> {
        // Only this says to the recovery, and to everybody else, that nobody lives there.
        self.line.call(PLACE, |redis| scripts::remove_presence(redis, identity)).await?;
        let limits = RecoveryLimits { orphan_threshold: Duration::ZERO, ..self.limits };
        let recovery = Self { limits, ..self.clone() };
        let mut tally = Tally::default();
        let suspects = recovery.recover_unsuspected(identity, &mut tally).await;
        recovery.tell(identity, std::mem::take(&mut tally));
        let result = recovery.recover_suspects(identity, suspects?, &mut tally).await;
        recovery.tell(identity, tally);
        result
    }

    /// Puts back what was never recovered before, and gives the rest, with how often it was.
    async fn recover_unsuspected(
        &self,
        identity: &str,
        tally: &mut Tally,
    ) -> Result<Vec<(i64, Bytes)>, RedisError> {
        let mut suspects = Vec::new();
        loop {
            let (list, skip) = (self.line.keys().inprogress(identity), suspects.len() + tally.blocked);
            let peeked = self.line.call(PLACE, |redis| scripts::peek_list(redis, list, ListEnd::Left, skip));
            let peeked = peeked.await?;
            let mut orphans = Vec::new();
            let times = self.times_recovered(&peeked.elements).await?;
            for (job, times) in peeked.elements.into_iter().zip(times) {
                match times {
                    0 => orphans.push(self.orphan(job)),
                    times => suspects.push((times, job)),
                }
            }
            // Without any the call signs the process off, if its list is empty.
            if self.recover_some(identity, orphans, tally).await?.is_none() || !peeked.more {
                return Ok(suspects);
            }
        }
    }

    async fn recover_suspects(
        &self,
        identity: &str,
        mut suspects: Vec<(i64, Bytes)>,
        tally: &mut Tally,
    ) -> Result<(), RedisError> {
        suspects.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
        let many = u32::try_from(suspects.len()).unwrap_or(u32::MAX).max(1);
        let limit = SUSPECT_LIMIT.min(SUSPECTS_LIMIT / many);
        for (_, job) in suspects {
            let requeued = tally.requeued;
            let orphan = self.orphan(job.clone());
            let Some(too_often) = self.recover_some(identity, vec![orphan], tally).await? else {
                return Ok(());
            };
            if !too_often.is_empty() {
                let orphans = too_often.into_iter().map(|job| self.repeat_orphan_of(job)).collect();
                self.recover_some(identity, orphans, tally).await?;
            }
            if tally.requeued > requeued {
                self.see_through(&job, limit).await?;
            }
        }
        Ok(())
    }

    /// Waits until a job has ended in one way or another, which is when its recoveries are counted anew.
    async fn see_through(&self, job: &Bytes, limit: Duration) -> Result<(), RedisError> {
        let until = Instant::now() + limit;
        while Instant::now() < until && self.times_recovered(std::slice::from_ref(job)).await? != [0] {
            tokio::time::sleep(SUSPECT_STEP).await;
        }
        Ok(())
    }

    /// How often each job was recovered since it last came to an end.
    async fn times_recovered(&self, jobs: &[Bytes]) -> Result<Vec<i64>, RedisError> {
        let counter = |job: &Bytes| super::orphans::counter_of(&RawJob::parse(job).ok()?, self.line.keys());
        let counters: Vec<Option<Key>> = jobs.iter().map(counter).collect();
        let kept: Vec<Key> = counters.iter().flatten().cloned().collect();
        let counts = self.line.call(PLACE, |redis| scripts::count_recoveries(redis, &kept)).await?;
        // A job without an id is not counted.
        let mut counts = counts.into_iter();
        Ok(counters.iter().map(|counter| counter.as_ref().and_then(|_| counts.next()).unwrap_or(0)).collect())
    }
}
