//! Starting jobs and taking their ends.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cogworker_core::failure::Failure;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;
use tracing::{error, info, warn};

use super::{Engine, IN_PLACE_BURST};
use crate::engine::claim::Claim;
use crate::engine::outcome::{EndedRun, Outcome, Rules};
use crate::engine::runner::{Failed, Finished, Started};
use crate::engine::slots::Running;
use crate::job_error::INTERRUPTED;

impl Engine {
    pub(super) fn log_running(&self) {
        info!("{} of {} slots are busy", self.slots.busy(), self.slots.count());
        for running in self.slots.running() {
            let Ok(job) = RawJob::parse(&running.claim.raw) else { continue };
            info!(
                jid = job.jid(),
                class = job.class(),
                queue = &*running.claim.queue,
                "running for {:.1} s",
                running.elapsed().as_secs_f64()
            );
        }
    }

    pub(super) fn may_start(&self) -> bool {
        !self.buffer.is_empty() && self.slots.free() > 0 && self.takes_jobs()
    }

    pub(super) fn start_jobs(&mut self) {
        if !self.may_start() {
            self.gauges.busy.store(self.slots.busy(), Ordering::Relaxed);
            return;
        }
        // What jobs spawn or wait on belongs to the job runtime, wherever they are polled first.
        let jobs = self.jobs.clone();
        let _entered = jobs.enter();
        let mut burst = 0;
        while burst < IN_PLACE_BURST && self.may_start() && !self.lease_has_lapsed() {
            let Some(claim) = self.buffer.pop_front() else { break };
            burst += 1;
            self.start(claim);
        }
        self.gauges.busy.store(self.slots.busy(), Ordering::Relaxed);
    }

    pub(super) fn start(&mut self, claim: Claim) {
        let begun = Instant::now();
        let job = match RawJob::parse(&claim.raw) {
            Ok(job) => job,
            Err(reason) => {
                error!(queue = &*claim.queue, "buried something that is no job: {reason}");
                let outcome = Outcome::unparseable(claim.clone(), &reason, self.rules());
                self.settler.add(outcome);
                return;
            }
        };
        let class = self.runner.class_of(&job);
        let run = self.runner.run_of(&claim, &job);
        // Only a history asks for it, and a run in place is short.
        let started_at = if self.history.is_some() { EpochSeconds::now() } else { EpochSeconds::EPOCH };
        let mut id = None;
        let slots = &mut self.slots;
        let started = self.runner.start(&run, class, || {
            id = slots.occupy(claim.clone(), class, run.clone());
            id
        });
        match started {
            Started::Ended(result) => {
                let elapsed = begun.elapsed();
                self.pace.ran(elapsed);
                self.slot_freed = begun;
                let ended = EndedRun { run: &run, job: &job, started_at };
                self.settler.add(outcome_of(claim.clone(), &ended, elapsed, &result, self.rules()));
            }
            Started::GoesOn(abort) => {
                let Some(id) = id else { return };
                self.gauges.running_locks.begin(id, &job, &claim.raw, &self.redis);
                if let Some(abort) = abort {
                    self.slots.set_abort(id, abort);
                }
            }
        }
    }

    pub(super) fn finished(&mut self, finished: Finished) {
        self.gauges.running_locks.end(finished.run);
        let Some(running) = self.slots.release(finished.run) else { return };
        self.slot_freed = Instant::now();
        let elapsed = running.elapsed();
        self.pace.ran(elapsed);
        self.runner.polled(running.class, finished.longest_poll);
        let Running { claim, run, run_at, lost, .. } = running;
        if lost {
            // The same bytes may stand on the list again, for another run.
            warn!(jid = run.jid().as_str(), "the run of a lost job ended: nothing is written for it");
            return;
        }
        let raw = claim.raw.clone();
        let outcome = match RawJob::parse(&raw) {
            Ok(job) => {
                let ended = EndedRun { run: &run, job: &job, started_at: run_at };
                outcome_of(claim, &ended, elapsed, &finished.result, self.rules())
            }
            // What is no job is never started.
            Err(reason) => Outcome::unparseable(claim, &reason, self.rules()),
        };
        self.settler.add(outcome);
    }
}

fn outcome_of(
    claim: Claim,
    ended: &EndedRun<'_>,
    elapsed: Duration,
    result: &Result<(), Failed>,
    rules: Rules<'_>,
) -> Outcome {
    let (job, run) = (ended.job, ended.run);
    let duration_s = elapsed.as_micros() as f64 / 1e6;
    match result {
        Ok(()) => {
            tracing::debug!(jid = job.jid(), class = job.class(), queue = run.queue(), duration_s, "done");
            Outcome::done(claim, ended, rules)
        }
        Err(failed) if failed.failure.class == INTERRUPTED && run.is_interrupted() => {
            info!(
                jid = job.jid(),
                class = job.class(),
                queue = run.queue(),
                duration_s,
                "ended when asked to, and goes back to its queue"
            );
            Outcome::put_back(claim, run, rules)
        }
        Err(failed) => {
            let outcome = Outcome::failed(claim, ended, failed, rules);
            let Failure { class, message, backtrace, .. } = &failed.failure;
            let follows = outcome.follows();
            warn!(
                jid = job.jid(),
                class = job.class(),
                queue = run.queue(),
                attempt = run.attempt(),
                duration_s,
                "failed, {follows}: {class}: {message}"
            );
            for line in backtrace {
                tracing::debug!(jid = job.jid(), "  {line}");
            }
            outcome
        }
    }
}
