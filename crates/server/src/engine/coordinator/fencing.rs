//! Stepping back when this process may be taken for dead.

use std::time::{Duration, Instant};

use cogworker_core::scripts::Held;
use tracing::{error, info};

use super::Engine;
use crate::engine::shutdown::{Shutdown, ShutdownStep};

/// How far stepping back has come.
pub(super) enum Fencing {
    /// Running jobs are brought to an end; in any case, when others may have taken them already.
    Ending { timeline: Shutdown, in_any_case: bool },
    /// Nothing is left but what cannot be stopped.
    Still,
}

impl Engine {
    /// When stepping back goes on, or begins unless a heartbeat comes.
    pub(super) fn next_fencing(&self) -> Option<Instant> {
        match &self.fencing {
            _ if self.held == Held::Popped => None,
            _ if self.stopping.is_some() => {
                Some(self.lease.good_until()).filter(|at| self.slots.busy() > 0 && *at > Instant::now())
            }
            Some(Fencing::Ending { timeline, .. }) => Some(timeline.next_wake()),
            // A beat comes from another thread, and says so by a command.
            Some(Fencing::Still) => None,
            None => Some(self.lease.good_until()),
        }
    }

    /// Without a good heartbeat for long enough, other processes may run this one's jobs: they
    /// are asked to end, aborted a second later, and given back once Redis answers, where they are
    /// still ours. Nothing is taken until the next good beat. Blocking runs cannot be aborted; what
    /// they come to is written only if their job is still ours.
    pub(super) fn watch_lease(&mut self) {
        if self.held == Held::Popped {
            // Nobody takes popped jobs over.
            return self.give_back_stopped();
        }
        if self.stopping.is_some() {
            if (self.lease.take_missed() || self.lease_has_lapsed()) && self.slots.busy() > 0 {
                self.hurry();
            }
            return;
        }
        self.give_back_stopped();
        let missed = self.lease.take_missed();
        let lapsed = self.lease_has_lapsed();
        match &mut self.fencing {
            None if lapsed || missed => {
                error!(
                    "no heartbeat for {:.1} s or more: other processes may take over this one's jobs; its {} \
                     running ones are stopped, and none taken until redis answers",
                    self.lease.length().as_secs_f64(),
                    self.slots.busy()
                );
                self.waits.disarm_all();
                let timeline = Shutdown::new(Duration::ZERO);
                self.fencing = Some(Fencing::Ending { timeline, in_any_case: missed });
            }
            None => {}
            Some(Fencing::Ending { timeline, in_any_case }) => {
                *in_any_case |= missed;
                if !lapsed && !*in_any_case {
                    return self.step_forward();
                }
                match timeline.advance(self.slots.busy(), self.slots.tasks_are_gone(), false) {
                    ShutdownStep::Wait => {}
                    ShutdownStep::CancelJobs => self.slots.cancel_all(),
                    ShutdownStep::AbortJobs => self.slots.abort_all(),
                    ShutdownStep::GiveBackJobs | ShutdownStep::End | ShutdownStep::GiveUp => {
                        self.fencing = Some(Fencing::Still);
                    }
                }
            }
            Some(Fencing::Still) if !lapsed => self.step_forward(),
            Some(Fencing::Still) => {}
        }
    }

    /// True when others may take this process for dead soon.
    pub(super) fn lease_has_lapsed(&self) -> bool {
        self.held == Held::Listed && Instant::now() >= self.lease.good_until()
    }

    /// A stop does not wait for jobs that others may run.
    fn hurry(&mut self) {
        if self.stopping.as_mut().is_some_and(Shutdown::hurry) {
            error!(
                "no heartbeat for so long that others may take over the running jobs: they are stopped now"
            );
        }
    }

    fn step_forward(&mut self) {
        info!("this process is known to live again, and takes jobs");
        self.fencing = None;
        self.hungry = true;
    }

    /// An aborted task says nothing when it is gone, which may be long after it was aborted.
    fn give_back_stopped(&mut self) {
        if !self.slots.any_aborted() {
            return;
        }
        self.take_all_finished();
        for (run, running) in self.slots.take_stopped() {
            self.gauges.running_locks.end(run);
            self.put_back(running);
        }
    }
}
