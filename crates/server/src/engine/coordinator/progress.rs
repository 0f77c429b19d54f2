//! Showing whether jobs are fetched, and beginning again where they should be and are not.

use std::time::Instant;

use cogworker_core::scripts;
use tracing::error;

use super::Engine;
use crate::engine::pulse::Activity;

impl Engine {
    /// Leaves a sign of life; at each turn of the loop.
    pub(super) fn show_progress(&mut self) {
        let now = self.pulse.now();
        self.pulse.loop_turned(now);
        let activity = self.activity();
        let lasts = self.pulse.doing(activity, now);
        if activity == Activity::Idle && lasts > self.limits.slow_call && !self.hungry {
            error!(
                "no fetch and no wait was under way for {:.1} s: fetching begins again",
                lasts.as_secs_f64()
            );
            self.hungry = true;
        }
        for queue in self.waits.revive_lost() {
            error!("the wait for jobs on {} was lost: it begins again", self.queues.name(queue));
            self.hungry = true;
        }
    }

    fn activity(&self) -> Activity {
        if self.quiet {
            Activity::Quiet
        } else if self.fencing.is_some() {
            Activity::SteppedBack
        } else if !self.fetches.is_empty() {
            Activity::Fetching
        } else if self.slots.free() == 0 {
            Activity::Full
        } else if Instant::now() < self.fetch_not_before {
            Activity::HoldingOff
        } else if self.waits.any_under_way() {
            Activity::Waiting
        } else if !self.buffer.is_empty() {
            Activity::Full
        } else if self.settler.waiting() > scripts::BATCH_LIMIT || self.settler.fate_is_open() {
            Activity::Settling
        } else if self.needs_glances() {
            Activity::Paused
        } else {
            Activity::Idle
        }
    }
}
