//! Taking jobs: fetches while there is a backlog, waits while there is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Fetched};
use tracing::error;

use super::{Engine, LOOK_AGAIN, REFUSED_PAUSE, RETRY_PAUSE, STARVED_AFTER};
use crate::engine::claim::Claim;
use crate::engine::outcome::Outcome;
use crate::engine::waits::WaitEnd;

impl Engine {
    /// True when no slot has become free for so long that others can run what is taken ahead here
    /// sooner than this process.
    pub(super) fn is_starved(&self) -> bool {
        self.slots.free() == 0 && self.slot_freed.elapsed() >= STARVED_AFTER
    }

    /// How many further jobs to take now.
    pub(super) fn room(&self) -> usize {
        if self.is_starved() {
            return 0;
        }
        let wanted = self.slots.free() + self.pace.surplus(self.slots.count());
        // Settling must keep up: what waits there is held on the list too.
        let unsettled = self.settler.waiting().saturating_sub(scripts::BATCH_LIMIT);
        wanted.saturating_sub(self.buffer.len() + unsettled)
    }

    pub(super) fn plan_fetch(&mut self) {
        let now = Instant::now();
        if self.fetch.is_some() || self.quiet || now < self.fetch_not_before || self.settler.fate_is_open() {
            return;
        }
        if self.needs_glances() && now >= self.next_glance {
            self.next_glance = now + LOOK_AGAIN;
            self.hungry = true;
        }
        if !self.hungry {
            return;
        }
        let room = self.room();
        let idle_slots = self.slots.free() > self.buffer.len();
        // Small surpluses are not worth a call of their own while every slot has work.
        if room == 0 || (!idle_slots && room * 2 < self.pace.surplus(self.slots.count())) {
            return;
        }
        self.fetch_order = self.queues.draw_order();
        self.fetch_asked = room.min(scripts::BATCH_LIMIT);
        self.fetch_begun = now;
        let names: Vec<Arc<str>> =
            self.fetch_order.iter().map(|index| self.queues.name(*index).clone()).collect();
        let (redis, identity, asked) = (self.redis.clone(), self.identity.clone(), self.fetch_asked);
        self.fetch =
            Some(Box::pin(async move { scripts::fetch_jobs(&redis, &identity, &names, asked).await }));
    }

    pub(super) fn fetched(&mut self, result: Result<Fetched, RedisError>) {
        self.fetch = None;
        let fetched = match result {
            Ok(fetched) => fetched,
            Err(error) => {
                self.outage.report("fetching jobs", &error);
                self.suspicious |= error.fate_is_unknown();
                self.fetch_not_before = Instant::now() + pause_after(&error);
                self.hungry = true;
                return;
            }
        };
        self.outage.recovered("fetching jobs");
        self.pace.answered(self.fetch_begun.elapsed());
        for refused in &fetched.errors {
            if let Some(index) = self.fetch_order.get(refused.queue) {
                let name = self.queues.name(*index).clone();
                error!(queue = &*name, "failed to read a queue: {}", refused.error);
                // Its wait would fail as fast as it begins.
                self.fetch_not_before = Instant::now() + REFUSED_PAUSE;
            }
        }
        for index in 0..self.queues.count() {
            self.queues.set_paused(index, false);
        }
        for position in &fetched.paused {
            if let Some(index) = self.fetch_order.get(*position).copied() {
                self.queues.set_paused(index, true);
            }
        }
        // Everything that waits has been taken when less came than was asked for.
        self.hungry = fetched.count() >= self.fetch_asked;
        for taken in fetched.taken {
            let Some(index) = self.fetch_order.get(taken.queue) else { continue };
            let queue = self.queues.name(*index).clone();
            self.buffer.extend(taken.jobs.into_iter().map(|raw| Claim { raw, queue: queue.clone() }));
        }
        if self.quiet {
            self.give_back_buffer();
        }
    }

    /// True while some queue has no wait: paused, or one too many.
    pub(super) fn needs_glances(&self) -> bool {
        !self.quiet && (self.queues.any_paused() || self.queues.count() > self.waits.count())
    }

    pub(super) fn plan_waits(&mut self) {
        if self.is_starved() {
            // Others can run these at once; here they would wait for a slot.
            self.waits.disarm_all();
            self.give_back_buffer();
            self.hungry = true;
        } else if !self.quiet
            && !self.hungry
            && self.slots.free() > 0
            && Instant::now() >= self.fetch_not_before
            && !self.settler.fate_is_open()
        {
            for index in 0..self.queues.count() {
                if !self.queues.is_paused(index) {
                    self.waits.arm(index);
                }
            }
        }
    }

    pub(super) fn wait_ended(&mut self, end: WaitEnd) {
        self.waits.ended(end.queue);
        match end.result {
            Ok(None) => {}
            Ok(Some(waited)) => {
                self.outage.recovered("waiting for jobs");
                let claim = Claim { raw: waited.element, queue: self.queues.name(end.queue).clone() };
                if waited.paused {
                    self.queues.set_paused(end.queue, true);
                }
                if waited.paused || self.quiet {
                    self.give_back(claim);
                } else {
                    self.buffer.push_back(claim);
                    // Where one job came there may be more.
                    self.hungry = true;
                }
            }
            Err(error) => {
                self.outage.report("waiting for jobs", &error);
                self.wait_failed = true;
                self.suspicious |= error.fate_is_unknown();
                self.fetch_not_before = Instant::now() + pause_after(&error);
                self.hungry = true;
            }
        }
    }

    pub(super) fn give_back(&mut self, claim: Claim) {
        self.settler.add(Outcome::given_back(claim, self.redis.keys(), self.lock_ttl));
    }

    /// The youngest first, so that the oldest ends up next to be taken.
    pub(super) fn give_back_buffer(&mut self) {
        while let Some(claim) = self.buffer.pop_back() {
            self.give_back(claim);
        }
    }
}

/// An outage ends by itself, and work should go on at once then; a refusal lasts and is told each time.
fn pause_after(error: &RedisError) -> Duration {
    if error.is_outage() { RETRY_PAUSE } else { REFUSED_PAUSE }
}
