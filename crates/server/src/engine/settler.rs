//! Outcomes on their way to Redis: everything waiting goes in one call.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::keys::KeySpace;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{BATCH_LIMIT, Held, HistoryLimits, SettleBatch, Settled, SideStep, Step};

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
    /// Counts the calls of unknown fate: late ones of an older generation do nothing.
    generation: u64,
    /// No call of this generation has been answered yet.
    unconfirmed: bool,
    uncounted: (u64, u64),
    sent_uncounted: (u64, u64),
    /// Nothing is sent before this, after a failed call.
    not_before: Option<Instant>,
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
        self.count() == 0 && !self.busy
    }

    /// Runs that are settled and not counted yet (processed, failed).
    pub(crate) fn uncounted(&self) -> (u64, u64) {
        self.uncounted
    }

    /// How many outcomes are not settled yet.
    pub(crate) fn count(&self) -> usize {
        self.waiting.len() + self.under_way.len() + self.refused.len()
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
        let waiting = self.not_before.filter(|_| self.unconfirmed || !self.waiting.is_empty());
        let refused = self.refused_until;
        match (waiting, refused) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Outcome> {
        self.waiting.iter().chain(&self.under_way).chain(&self.refused)
    }

    /// The raw bytes of every job that waits to be settled.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Bytes> {
        self.all().map(|outcome| &outcome.claim.raw)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// True while a call whose reply got lost may still arrive: what is on the list is then uncertain.
    pub(crate) fn fate_is_open(&self) -> bool {
        self.unconfirmed || self.waiting.iter().chain(&self.under_way).any(|outcome| outcome.tried)
    }

    /// The next batch, if anything waits and no call is under way.
    pub(crate) fn next_batch(&mut self, now: Instant, history: Option<HistoryLimits>) -> Option<SettleBatch> {
        if self.is_busy() || self.not_before.is_some_and(|at| at > now) {
            return None;
        }
        if self.refused_until.is_some_and(|at| at <= now) {
            self.refused_until = None;
            self.waiting.extend(self.refused.drain(..));
        } else if self.waiting.is_empty() && !self.unconfirmed {
            return None;
        }
        let held = self.waiting.front().map_or(Held::Listed, |outcome| outcome.claim.held);
        self.busy = true;
        self.not_before = None;
        self.sent_uncounted = std::mem::take(&mut self.uncounted);
        let mut batch = SettleBatch::new(held, self.sent_uncounted);
        batch.of_generation(self.generation);
        if let Some(limits) = history {
            batch.keep_history(limits);
        }
        let alike = self.waiting.iter().take(BATCH_LIMIT).take_while(|outcome| outcome.claim.held == held);
        let count = alike.count();
        self.under_way.extend(self.waiting.drain(..count));
        for outcome in &self.under_way {
            outcome.add_to(&mut batch);
        }
        Some(batch)
    }

    /// Takes the reply of the call under way. What was refused is tried again at `again_at`.
    pub(crate) fn settled(&mut self, settled: Settled, again_at: Instant) -> Effects {
        let mut effects =
            Effects { error: settled.error, side_errors: settled.side_errors, ..Effects::default() };
        self.busy = false;
        self.unconfirmed = false;
        self.uncounted.0 += settled.uncounted.0;
        self.uncounted.1 += settled.uncounted.1;
        if self.uncounted != (0, 0) {
            self.refused_until.get_or_insert(again_at);
        }
        for (mut outcome, step) in std::mem::take(&mut self.under_way).into_iter().zip(settled.steps) {
            match step {
                Step::Applied => {
                    effects.retried |= outcome.is_retried();
                    effects.deaths.extend(outcome.into_death());
                }
                // A repeat that finds nothing was applied the first time.
                Step::Gone if outcome.tried || outcome.claim.held == Held::Popped => {
                    effects.deaths.extend(outcome.into_death());
                }
                Step::Gone => effects.lost.push(outcome.jid()),
                Step::Failed => {
                    outcome.tried = false;
                    self.refused_until.get_or_insert(again_at);
                    self.refused.push(outcome);
                }
            }
        }
        effects
    }

    /// The call under way failed. What it held is sent again at `again_at`, but for what a
    /// repeat could double.
    pub(crate) fn failed(&mut self, fate_is_unknown: bool, again_at: Instant) {
        self.busy = false;
        self.not_before = Some(again_at);
        if fate_is_unknown {
            self.generation += 1;
            self.unconfirmed = true;
        }
        if !fate_is_unknown && self.sent_uncounted != (0, 0) {
            self.uncounted.0 += self.sent_uncounted.0;
            self.uncounted.1 += self.sent_uncounted.1;
            self.refused_until.get_or_insert(again_at);
        }
        let mut again: VecDeque<Outcome> = std::mem::take(&mut self.under_way)
            .into_iter()
            .filter_map(|mut outcome| {
                if fate_is_unknown && !may_be_sent_again(&mut outcome) {
                    return None;
                }
                outcome.tried |= fate_is_unknown && outcome.claim.held == Held::Listed;
                Some(outcome)
            })
            .collect();
        again.append(&mut self.waiting);
        self.waiting = again;
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

/// A listed job that was being given back could be ours again by now, had that been applied:
/// giving it back twice would run it twice. The reconciler finds it if it is still here. A popped
/// one has no such second chance, so it is rather run twice than lost; and the acknowledgement
/// of one only counts, which is not done twice, and releases locks, which is.
fn may_be_sent_again(outcome: &mut Outcome) -> bool {
    match outcome.claim.held {
        Held::Listed => !outcome.is_given_back(),
        Held::Popped => outcome.reduce_to_release(),
    }
}
