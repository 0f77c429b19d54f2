//! Fires the slots of periodic entries.

mod passage;
mod state;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cogworker_client::ClientError;
use cogworker_core::locks::JobLocks;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Fired, Slot};
use cogworker_core::time::EpochSeconds;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use self::passage::FireError;
pub(crate) use self::passage::Passage;
use self::state::{EntryState, Step};
use super::line::Line;
use crate::engine::Gauges;
use crate::outage::Outage;
use crate::periodic::Entry;

/// The longest sleep between two looks (TICK-27).
const PERIOD: Duration = Duration::from_secs(5);
/// A look comes so much after the second in which a slot is due.
const AFTER_DUE: Duration = Duration::from_millis(5);
const PLACE: &str = "firing periodic jobs";
const PUBLISHING: &str = "publishing the schedule";

#[derive(Clone)]
pub(crate) struct Ticker {
    pub(crate) line: Line,
    pub(crate) entries: Arc<[Entry]>,
    /// What the jobs pass through, if there is anything.
    pub(crate) passage: Option<Passage>,
    pub(crate) replace: bool,
    pub(crate) catch_up: bool,
    /// How long a lock is held while its job is queued, s.
    pub(crate) lock_ttl: u64,
    /// How long a job's status is kept, s, if there is one.
    pub(crate) status_ttl: Option<u64>,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
}

impl Ticker {
    pub(crate) async fn run(self, stop: CancellationToken) {
        if self.entries.is_empty() && !self.replace {
            return;
        }
        let mut published = false;
        let mut states: Vec<EntryState> = self.entries.iter().map(|_| EntryState::default()).collect();
        loop {
            if !published {
                published = self.publish().await;
            }
            // Nothing fires before dead processes were looked for (TICK-12), nor while quiet.
            let ready = self.gauges.recovered_once.load(Ordering::Acquire);
            let sleep = if ready && !self.gauges.quiet.load(Ordering::Relaxed) {
                self.tick(&mut states).await;
                self.until_next(&states)
            } else {
                PERIOD.min(Duration::from_millis(200))
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// PENT-04, PENT-05.
    async fn publish(&self) -> bool {
        let entries: Vec<_> =
            self.entries.iter().map(|entry| (entry.pjid.clone(), entry.published.clone())).collect();
        let replace = self.replace;
        let call = self.line.call(PUBLISHING, |redis| scripts::publish_schedule(redis, &entries, replace));
        match call.await {
            Ok(()) => {
                self.outage.recovered(PUBLISHING);
                true
            }
            Err(failure) => {
                self.outage.report(PUBLISHING, &failure);
                // A refusal is told once; an outage passes.
                !failure.is_outage()
            }
        }
    }

    /// Looks at each entry; one that fails does not stop the others (TICK-14).
    async fn tick(&self, states: &mut [EntryState]) {
        for (entry, state) in self.entries.iter().zip(states) {
            let now = EpochSeconds::now();
            let Some(slot) = entry.cron.previous(now) else { continue };
            if state.step(slot, Instant::now()) == Step::Rest {
                continue;
            }
            let last_look = state.is_last_look(slot, Instant::now());
            match self.fire(entry, slot, last_look).await {
                Ok((fired, trouble)) => {
                    self.outage.recovered(PLACE);
                    self.note(entry, slot, fired, trouble, state);
                }
                // Redis away is no fault of the entry: it is looked at again with the next tick (TICK-23).
                Err(failure) => {
                    if let Some(failure) = failure.outage() {
                        return self.outage.report(PLACE, failure);
                    }
                    let pause = state.failed(Instant::now());
                    error!(
                        pjid = entry.pjid,
                        class = entry.class,
                        "a periodic job failed to fire, again in {} s: failed to {failure}",
                        pause.as_secs()
                    );
                }
            }
        }
    }

    fn note(
        &self,
        entry: &Entry,
        slot: i64,
        fired: Fired,
        trouble: Option<RedisError>,
        state: &mut EntryState,
    ) {
        let (pjid, class) = (&entry.pjid, entry.class);
        if let Some(failure) = trouble.as_ref().filter(|_| fired != Fired::Refused) {
            warn!(
                pjid,
                class, "whether the periodic job is switched off cannot be read: failed to {failure}"
            );
        }
        match fired {
            Fired::Fired => {
                info!(pjid, class, slot, "fired a periodic job");
                state.done(slot);
            }
            Fired::Lost | Fired::First | Fired::Disabled => state.done(slot),
            Fired::Passed => {
                info!(pjid, class, slot, "skipped a periodic job: a client middleware stopped it");
                state.done(slot);
            }
            Fired::Duplicate => {
                info!(
                    pjid,
                    class, slot, "skipped a periodic job: an equal one is unique and not executed yet"
                );
                state.done(slot);
            }
            Fired::Blocked => state.blocked(slot, Instant::now()),
            Fired::Skipped => {
                warn!(pjid, class, slot, "skipped a periodic job: its last run has not ended");
                state.done(slot);
            }
            Fired::Refused => {
                let pause = state.failed(Instant::now());
                let why = trouble.map(|failure| failure.to_string()).unwrap_or_default();
                error!(
                    pjid,
                    class,
                    "a periodic job was refused, again in {} s: failed to {why}",
                    pause.as_secs()
                );
            }
        }
    }

    async fn fire(
        &self,
        entry: &Entry,
        at: i64,
        last_look: bool,
    ) -> Result<(Fired, Option<RedisError>), FireError> {
        let now = EpochSeconds::now();
        let mut job = match &self.passage {
            None => Some(entry.job_of(at)),
            Some(passage) => passage.pass(entry, at).await?,
        };
        let prepared = job.as_mut().map(|job| job.prepare(now)).transpose().map_err(ClientError::from)?;
        let payload = job.map(|job| job.payload(Some(now)));
        let job = payload.as_deref().and_then(|job| RawJob::parse(job).ok()).unwrap_or_default();
        let slot = Slot {
            pjid: &entry.pjid,
            at,
            jid: job.jid(),
            queue: prepared.as_ref().map_or(&entry.queue, |prepared| &prepared.queue),
            until_executed: entry.until_executed,
            unique_lock: JobLocks::of(&job, self.line.keys()).unique,
            lock_ttl: self.lock_ttl,
            class: job.class(),
            job: payload.clone(),
            status_ttl: self.status_ttl,
            last_look,
            catch_up: self.catch_up,
        };
        Ok(self.line.call(PLACE, |redis| scripts::fire_slot(redis, slot)).await?)
    }

    /// Until the next slot of any entry, or the next look at one that waits.
    fn until_next(&self, states: &[EntryState]) -> Duration {
        let now = EpochSeconds::now();
        let next = self.entries.iter().zip(states).filter_map(|(entry, state)| {
            let due = entry.cron.next(now)?;
            let until_due = EpochSeconds::new(due as f64).since(now) + AFTER_DUE;
            Some(if state.is_waiting() { until_due.min(Duration::from_secs(1)) } else { until_due })
        });
        // The winner fires; a few milliseconds apart, the others find that at one look.
        next.min().unwrap_or(PERIOD).min(PERIOD) + Duration::from_millis(fastrand::u64(0..8))
    }
}
