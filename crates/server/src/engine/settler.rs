//! Outcomes on their way to Redis: everything waiting goes in one call. One whose reply gets lost is
//! asked about before anything else is sent.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::history_limits::HistoryLimits;
use cogworker_core::keys::KeySpace;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{BATCH_LIMIT, BatchShape, Held, SettleBatch, Settled, SideStep, Step};

use super::outcome::{Fate, Outcome};

#[derive(Debug, Default)]
pub(crate) struct Settler {
    waiting: VecDeque<Outcome>,
    under_way: Vec<Outcome>,
    /// True while a call is under way; it may carry only what is still to be counted.
    busy: bool,
    /// Outcomes that their destination refused: they wait apart, so that they hold up nobody.
    refused: Vec<Outcome>,
    refused_until: Option<Instant>,
    /// The number of the last call.
    number: u64,
    under_way_shape: BatchShape,
    /// The last batch, when its reply got lost. An empty call asks what it came to, before anything
    /// else is sent: repeating it blindly could give a job back twice, or count a popped one twice.
    doubt: Option<Doubt>,
    uncounted: (u64, u64),
    sent_uncounted: (u64, u64),
    /// Nothing is sent before this, after a failed call.
    not_before: Option<Instant>,
}

/// A batch of unknown fate.
#[derive(Debug)]
struct Doubt {
    number: u64,
    outcomes: Vec<Outcome>,
    shape: BatchShape,
    uncounted: (u64, u64),
}

/// What a settlement's reply means for the rest of the engine.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The retry set has new entries, which may be due before the others.
    pub(crate) retried: bool,
    /// Jobs that were no longer ours: nothing was written for them.
    pub(crate) lost: Vec<String>,
    /// Why an outcome could not be written; it is tried again.
    pub(crate) error: Option<RedisError>,
    /// What beside the outcomes could not be written, and why.
    pub(crate) side_errors: Vec<(SideStep, RedisError)>,
    /// Jobs that stand in dead now, and why.
    pub(crate) deaths: Vec<(Bytes, Failure)>,
}

impl Settler {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.waiting.push_back(outcome);
    }

    /// True while a call is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0 && !self.busy && self.doubt.is_none()
    }

    /// Runs that are settled and not counted yet (processed, failed).
    pub(crate) fn uncounted(&self) -> (u64, u64) {
        let doubtful = self.doubt.as_ref().map_or((0, 0), |doubt| doubt.uncounted);
        (self.uncounted.0 + doubtful.0, self.uncounted.1 + doubtful.1)
    }

    /// How many outcomes are not settled yet.
    pub(crate) fn count(&self) -> usize {
        self.all().count()
    }

    /// How many of them wait for the next call.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// When the next call may go, if an error holds it up.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        if self.is_busy() {
            return None;
        }
        let waiting = self.not_before.filter(|_| self.doubt.is_some() || !self.waiting.is_empty());
        // While a failed call holds everything up, what was refused waits too.
        let refused = self.refused_until.map(|at| self.not_before.map_or(at, |until| at.max(until)));
        match (waiting, refused) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Outcome> {
        let doubtful = self.doubt.iter().flat_map(|doubt| &doubt.outcomes);
        self.waiting.iter().chain(&self.under_way).chain(&self.refused).chain(doubtful)
    }

    /// The raw bytes of every job that waits to be settled.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Bytes> {
        self.all().map(|outcome| &outcome.claim.raw)
    }

    /// The number for a call that is made past this settler, once it has nothing left to send.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// True while a call whose reply got lost may still arrive: what is on the list is then uncertain.
    pub(crate) fn fate_is_open(&self) -> bool {
        self.doubt.is_some()
    }

    /// The next batch, if anything waits and no call is under way.
    pub(crate) fn next_batch(&mut self, now: Instant, history: Option<HistoryLimits>) -> Option<SettleBatch> {
        if self.is_busy() || self.not_before.is_some_and(|at| at > now) {
            return None;
        }
        if self.refused_until.is_some_and(|at| at <= now) {
            self.refused_until = None;
            self.waiting.extend(self.refused.drain(..));
        } else if self.waiting.is_empty() && self.doubt.is_none() {
            return None;
        }
        self.busy = true;
        self.not_before = None;
        if let Some(doubt) = &self.doubt {
            let held = doubt.outcomes.first().map_or(Held::Listed, |outcome| outcome.claim.held);
            let mut question = SettleBatch::new(held, (0, 0));
            question.with_number(self.next_number());
            return Some(question);
        }
        let held = self.waiting.front().map_or(Held::Listed, |outcome| outcome.claim.held);
        self.sent_uncounted = std::mem::take(&mut self.uncounted);
        let mut batch = SettleBatch::new(held, self.sent_uncounted);
        batch.with_number(self.next_number());
        if let Some(limits) = history {
            batch.keep_history(limits);
        }
        let alike = self.waiting.iter().take(BATCH_LIMIT).take_while(|outcome| outcome.claim.held == held);
        let count = alike.count();
        self.under_way.extend(self.waiting.drain(..count));
        for outcome in &self.under_way {
            outcome.add_to(&mut batch);
        }
        self.under_way_shape = batch.shape();
        Some(batch)
    }

    /// Takes the reply of the call under way. What was refused is tried again at `again_at`.
    pub(crate) fn settled(&mut self, settled: Settled, again_at: Instant) -> Effects {
        let mut effects =
            Effects { error: settled.error, side_errors: settled.side_errors, ..Effects::default() };
        self.busy = false;
        let Some(doubt) = self.doubt.take() else {
            self.count_later(settled.uncounted, again_at);
            let outcomes = std::mem::take(&mut self.under_way);
            self.take_steps(outcomes, settled.steps, &mut effects, again_at);
            return effects;
        };
        let Doubt { number, outcomes, shape, uncounted } = doubt;
        let known = settled.earlier.filter(|earlier| earlier.number == number);
        match known.and_then(|earlier| Some((earlier.uncounted, earlier.steps(shape)?))) {
            Some((uncounted, steps)) => {
                self.count_later(uncounted, again_at);
                self.take_steps(outcomes, steps, &mut effects, again_at);
            }
            // It never arrived, and does nothing should it still come.
            None => self.take_back(outcomes, uncounted, again_at),
        }
        effects
    }

    fn take_steps(
        &mut self,
        outcomes: Vec<Outcome>,
        steps: Vec<Step>,
        effects: &mut Effects,
        again_at: Instant,
    ) {
        for (outcome, step) in outcomes.into_iter().zip(steps) {
            match step {
                Step::Applied => {
                    effects.retried |= outcome.is_retried();
                    effects.deaths.extend(outcome.into_death());
                }
                Step::Gone => effects.lost.push(outcome.jid()),
                Step::Failed => {
                    self.refused_until.get_or_insert(again_at);
                    self.refused.push(outcome);
                }
            }
        }
    }

    /// The call under way failed: what it held is sent again, or asked for, at `again_at`.
    pub(crate) fn failed(&mut self, fate_is_unknown: bool, again_at: Instant) {
        self.busy = false;
        self.not_before = Some(again_at);
        if self.doubt.is_some() {
            // The question can be asked once more.
            return;
        }
        let outcomes = std::mem::take(&mut self.under_way);
        let (shape, uncounted) = (std::mem::take(&mut self.under_way_shape), self.sent_uncounted);
        if fate_is_unknown {
            self.doubt = Some(Doubt { number: self.number, outcomes, shape, uncounted });
        } else {
            self.take_back(outcomes, uncounted, again_at);
        }
    }

    /// What was not carried out waits again, in front.
    fn take_back(&mut self, outcomes: Vec<Outcome>, uncounted: (u64, u64), again_at: Instant) {
        self.count_later(uncounted, again_at);
        for outcome in outcomes.into_iter().rev() {
            self.waiting.push_front(outcome);
        }
    }

    fn count_later(&mut self, uncounted: (u64, u64), again_at: Instant) {
        self.uncounted.0 += uncounted.0;
        self.uncounted.1 += uncounted.1;
        if self.uncounted != (0, 0) {
            self.refused_until.get_or_insert(again_at);
        }
    }

    /// Every outcome that is not settled.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = &Outcome> {
        self.all()
    }

    /// At the end of a process: failures that were refused are handed over, at once (UNS-01).
    pub(crate) fn hand_over_refused(&mut self, keys: &KeySpace) {
        let (over, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.refused)
            .into_iter()
            .partition(|outcome| matches!(outcome.fate, Fate::Filed(_)));
        self.refused = kept;
        for mut outcome in over {
            outcome.hand_over(keys);
            self.waiting.push_back(outcome);
        }
    }
}
