//! Taking jobs: fetches while there is a backlog, waits while there is none.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Fetched, Held};
use tracing::{error, warn};

use super::{Engine, Fetch, REFUSED_PAUSE, RETRY_PAUSE, STARVED_AFTER};
use crate::engine::claim::Claim;
use crate::engine::outcome::Outcome;
use crate::engine::slots::Running;
use crate::engine::waits::WaitEnd;
use crate::engine::within::within;

/// Fetches under way at a time, where jobs are taken ahead.
const MOST_FETCHES: usize = 2;

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
        let wanted = self.slots.free() + self.surplus();
        // Settling must keep up: what waits there is held on the list too.
        let unsettled = self.settler.waiting().saturating_sub(scripts::BATCH_LIMIT);
        wanted.saturating_sub(self.buffer.len() + unsettled + self.fetches.asked())
    }

    /// How many jobs to take ahead of the free slots. None by basic fetch: a crash would lose them.
    fn surplus(&self) -> usize {
        match self.held {
            Held::Listed => self.pace.surplus(self.slots.count()),
            Held::Popped => 0,
        }
    }

    pub(super) fn plan_fetch(&mut self) {
        let now = Instant::now();
        if !self.takes_jobs() || now < self.fetch_not_before || self.settler.fate_is_open() {
            return;
        }
        let surplus = self.surplus();
        // One is enough where nothing is taken ahead.
        if self.fetches.count() >= if surplus > 0 { MOST_FETCHES } else { 1 } {
            return;
        }
        self.hungry |= self.queues.admit(now);
        if self.needs_glances() && now >= self.next_glance {
            self.next_glance = now + self.glance_period;
            self.hungry = true;
        }
        if !self.hungry {
            return;
        }
        let room = self.room();
        let idle_slots = self.slots.free().saturating_sub(self.buffer.len() + self.fetches.asked());
        // Small surpluses are not worth a call of their own while every slot has work, and one call
        // does not take what the next could bring while the jobs of the first run.
        let share = surplus.div_ceil(MOST_FETCHES);
        if room == 0 || (idle_slots == 0 && room < share) {
            return;
        }
        let order = self.queues.draw_order();
        if order.is_empty() {
            self.hungry = false;
            return;
        }
        let asked = room.min(share.max(idle_slots)).min(scripts::BATCH_LIMIT);
        let names: Vec<Arc<str>> = order.iter().map(|index| self.queues.name(*index).clone()).collect();
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        let (held, limit) = (self.held, self.limits.stuck_call);
        self.fetches.add(Fetch { order, asked, begun: now, held }, async move {
            let call = scripts::fetch_jobs(&redis, &identity, held, &names, asked);
            within("fetching jobs", limit, call, redis.reset()).await
        });
    }

    pub(super) fn fetched(&mut self, fetch: Fetch, result: Result<Fetched, RedisError>) {
        self.pulse.fetched(result.is_ok(), self.pulse.now());
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
        self.pace.answered(fetch.begun.elapsed());
        for refused in &fetched.errors {
            if let Some(index) = fetch.order.get(refused.queue) {
                let name = self.queues.name(*index).clone();
                error!(queue = &*name, "failed to read a queue: {}", refused.error);
                self.queues.bar(*index, Instant::now() + REFUSED_PAUSE);
            }
        }
        for index in 0..self.queues.count() {
            self.queues.set_paused(index, false);
        }
        for position in &fetched.paused {
            if let Some(index) = fetch.order.get(*position).copied() {
                self.queues.set_paused(index, true);
            }
        }
        // Everything that waits has been taken when less came than was asked for.
        self.hungry = fetched.count() >= fetch.asked;
        for taken in fetched.taken {
            let Some(index) = fetch.order.get(taken.queue) else { continue };
            let queue = self.queues.name(*index).clone();
            for raw in taken.jobs {
                if !self.was_adopted(&raw, fetch.begun, fetch.held) {
                    self.buffer.push_back(Claim { raw, queue: queue.clone(), held: fetch.held });
                }
            }
        }
        if !self.takes_jobs() {
            self.give_back_buffer();
        }
    }

    /// True while some queue has no wait: paused, or one too many.
    pub(super) fn needs_glances(&self) -> bool {
        let unwatched = match self.held {
            Held::Listed => self.queues.count() > self.waits.count(),
            Held::Popped => self.queues.count() > self.waits.under_way(),
        };
        self.takes_jobs() && (self.queues.any_paused() || unwatched)
    }

    pub(super) fn plan_waits(&mut self) {
        if self.is_starved() {
            // Others can run these at once; here they would wait for a slot.
            self.waits.disarm_all();
            self.give_back_buffer();
            self.hungry = true;
        } else if self.takes_jobs()
            && !self.hungry
            && self.slots.free() > 0
            && Instant::now() >= self.fetch_not_before
            && !self.settler.fate_is_open()
        {
            // What comes of too many waits is given back; a popped job could be lost on that way.
            let mut room = match self.held {
                Held::Listed => usize::MAX,
                Held::Popped => {
                    let taken = self.buffer.len() + self.waits.under_way();
                    self.slots.free().saturating_sub(taken)
                }
            };
            for index in 0..self.queues.count() {
                if room == 0 {
                    break;
                }
                if !self.queues.is_paused(index) && !self.queues.is_barred(index) && self.waits.arm(index) {
                    room -= 1;
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
                if waited.paused {
                    self.queues.set_paused(end.queue, true);
                }
                if self.was_adopted(&waited.element, end.begun, end.held) {
                    return;
                }
                let queue = self.queues.name(end.queue).clone();
                let claim = Claim { raw: waited.element, queue, held: end.held };
                if waited.paused || !self.takes_jobs() {
                    self.give_back(claim);
                } else {
                    self.buffer.push_back(claim);
                    // Where one job came there may be more.
                    self.hungry = true;
                }
            }
            // Several waits may find out.
            Err(RedisError::UnknownCommand(_)) if end.held == Held::Listed => {
                if self.held == Held::Listed {
                    self.fall_back();
                }
            }
            Err(error) => {
                self.outage.report("waiting for jobs", &error);
                self.suspicious |= error.fate_is_unknown();
                self.hungry = true;
                self.wait_failed = true;
                if error.is_outage() {
                    self.pulse.fetched(false, self.pulse.now());
                    self.fetch_not_before = Instant::now() + RETRY_PAUSE;
                } else {
                    self.queues.bar(end.queue, Instant::now() + REFUSED_PAUSE);
                }
            }
        }
    }

    /// The server turned out not to know the commands of reliable fetch (MODE-06).
    fn fall_back(&mut self) {
        warn!("redis is older than 6.2, which reliable fetch needs: falling back to basic fetch");
        self.held = Held::Popped;
        self.gauges.basic.store(true, Ordering::Relaxed);
        self.waits.set_held(Held::Popped);
        self.hungry = true;
    }

    pub(super) fn give_back(&mut self, claim: Claim) {
        self.settler.add(Outcome::given_back(claim, self.rules()));
    }

    /// A run that began and is not brought to its end.
    pub(super) fn put_back(&mut self, running: Running) {
        self.settler.add(Outcome::put_back(running.claim, &running.run, self.rules()));
    }

    /// The youngest first, so that the oldest ends up next to be taken.
    pub(super) fn give_back_buffer(&mut self) {
        while let Some(claim) = self.buffer.pop_back() {
            self.give_back(claim);
        }
    }
}

/// An outage ends by itself, and work should go on at once then; a refusal lasts and is told each time.
pub(super) fn pause_after(error: &RedisError) -> Duration {
    if error.is_outage() { RETRY_PAUSE } else { REFUSED_PAUSE }
}
