//! The end: running jobs finish or go back, everything is settled.

use cogworker_core::scripts::{self, Held};
use cogworker_core::time::EpochSeconds;
use tracing::{error, info, warn};

use super::Engine;
use crate::counted::{counted, jobs};
use crate::engine::outcome::Outcome;
use crate::engine::shutdown::ShutdownStep;

/// So many jobs are named when they cannot be settled.
const TOLD_AT_MOST: usize = 100;

impl Engine {
    /// Moves a shutdown on by what is due; true once nothing is left to do.
    pub(super) fn may_end(&mut self) -> bool {
        let Some(shutdown) = &mut self.stopping else { return false };
        self.settler.hand_over_refused(self.redis.keys());
        let running = self.slots.busy();
        let held = !self.buffer.is_empty() || !self.fetches.is_empty() || self.waits.any_under_way();
        match shutdown.advance(running, self.slots.tasks_are_gone(), held || !self.settler.is_empty()) {
            ShutdownStep::Wait => false,
            ShutdownStep::CancelJobs => {
                let running = counted(running, "job is", "jobs are");
                info!("{running} still running at the shutdown limit: asked to end");
                self.slots.cancel_all();
                false
            }
            ShutdownStep::AbortJobs => {
                self.slots.abort_all();
                false
            }
            ShutdownStep::GiveBackJobs => {
                self.take_all_finished();
                let unfinished = self.slots.take_all();
                if !unfinished.is_empty() {
                    let (one, many) =
                        ("unfinished job back on its queue", "unfinished jobs back on their queues");
                    info!("put {}", counted(unfinished.len(), one, many));
                }
                for (run, running) in unfinished {
                    self.gauges.running_locks.end(run);
                    self.put_back(running);
                }
                false
            }
            ShutdownStep::End => true,
            ShutdownStep::GiveUp => {
                self.give_back_buffer();
                if self.settler.is_empty() {
                    warn!("stopping though redis does not answer");
                    return true;
                }
                for outcome in self.settler.unsettled().take(TOLD_AT_MOST) {
                    error!(jid = outcome.jid(), "not settled before the end: {}", outcome.kind());
                }
                let consequence = match self.held {
                    Held::Listed => {
                        "what is not settled stays on this process's list until another process recovers it"
                    }
                    Held::Popped => "what is not settled is lost, as basic fetch keeps no list",
                };
                error!("failed to settle {} before the end: {consequence}", jobs(self.settler.count()));
                true
            }
        }
    }

    /// A run that ended in the last moment is settled, not given back.
    pub(super) fn take_all_finished(&mut self) {
        while let Ok(finished) = self.finished.try_recv() {
            self.finished(finished);
        }
    }

    /// Whatever is still on the list now was delivered to nobody.
    pub(super) async fn give_back_leftovers(&mut self) {
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        while self.settler.is_empty() {
            let mut batch = scripts::SettleBatch::new(Held::Listed, (0, 0));
            batch.with_number(self.settler.next_number());
            match scripts::list_inprogress(&redis, &identity, scripts::BATCH_LIMIT, Some(0)).await {
                Ok(None) => return,
                Ok(Some(listed)) => {
                    for raw in listed {
                        let claim = self.claim_of_stray(raw);
                        Outcome::given_back(claim, self.rules()).add_to(&mut batch);
                    }
                }
                Err(error) => return self.outage.report("looking for strays", &error),
            }
            match scripts::settle_jobs(&redis, &identity, EpochSeconds::now(), batch).await {
                Ok(settled) if settled.error.is_none() => {}
                Ok(settled) => {
                    if let Some(error) = settled.error {
                        self.outage.report("giving jobs back", &error);
                    }
                    return;
                }
                Err(error) => return self.outage.report("giving jobs back", &error),
            }
        }
    }
}
