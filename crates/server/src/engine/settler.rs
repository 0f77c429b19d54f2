//! Outcomes on their way to Redis: everything waiting goes in one call.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{BATCH_LIMIT, SettleBatch, Settled, Step};

use super::outcome::{Fate, Outcome};

#[derive(Debug, Default)]
pub(crate) struct Settler {
    waiting: VecDeque<Outcome>,
    under_way: Vec<Outcome>,
    uncounted: (u64, u64),
    sent_uncounted: (u64, u64),
    /// Nothing is sent before this, after an error.
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
}

impl Settler {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.waiting.push_back(outcome);
    }

    /// True while a call is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.under_way.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// When the next call may go, if an error holds it up.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.not_before.filter(|_| !self.waiting.is_empty() && self.under_way.is_empty())
    }

    /// The raw bytes of every job that waits to be settled.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Bytes> {
        self.waiting.iter().chain(&self.under_way).map(|outcome| &outcome.claim.raw)
    }

    /// True while a re-sent outcome is not confirmed: what is on the list is then uncertain.
    pub(crate) fn fate_is_open(&self) -> bool {
        self.waiting.iter().chain(&self.under_way).any(|outcome| outcome.tried)
    }

    /// The next batch, if anything waits and no call is under way.
    pub(crate) fn next_batch(&mut self, now: Instant) -> Option<SettleBatch> {
        if self.is_busy() || self.waiting.is_empty() || self.not_before.is_some_and(|at| at > now) {
            return None;
        }
        self.not_before = None;
        self.sent_uncounted = std::mem::take(&mut self.uncounted);
        let mut batch = SettleBatch::new(self.sent_uncounted);
        let count = self.waiting.len().min(BATCH_LIMIT);
        self.under_way.extend(self.waiting.drain(..count));
        for outcome in &self.under_way {
            outcome.add_to(&mut batch);
        }
        Some(batch)
    }

    /// Takes the reply of the call under way.
    pub(crate) fn settled(&mut self, settled: Settled) -> Effects {
        let mut effects = Effects { error: settled.error, ..Effects::default() };
        self.uncounted.0 += settled.uncounted.0;
        self.uncounted.1 += settled.uncounted.1;
        let (mut acknowledged, mut operations) =
            (settled.acknowledged.into_iter(), settled.operations.into_iter());
        for mut outcome in std::mem::take(&mut self.under_way) {
            let step = if outcome.is_done() { acknowledged.next() } else { operations.next() };
            match step {
                Some(Step::Applied) => {
                    effects.retried |= matches!(outcome.fate, Fate::Filed { retried: true, .. });
                }
                // A repeat that finds nothing was applied the first time.
                Some(Step::Gone) if outcome.tried => {}
                Some(Step::Gone) => effects.lost.push(outcome.jid()),
                Some(Step::Failed) | None => {
                    outcome.tried = false;
                    self.waiting.push_back(outcome);
                }
            }
        }
        effects
    }

    /// The call under way failed. What it held is sent again at `again_at`, except for jobs that
    /// were being given back: had that been applied, they could be ours again by now, and giving
    /// them back twice would run them twice. The reconciler finds those that are still here.
    pub(crate) fn failed(&mut self, fate_is_unknown: bool, again_at: Instant) {
        self.not_before = Some(again_at);
        if !fate_is_unknown {
            self.uncounted.0 += self.sent_uncounted.0;
            self.uncounted.1 += self.sent_uncounted.1;
        }
        let mut again: VecDeque<Outcome> = std::mem::take(&mut self.under_way)
            .into_iter()
            .filter(|outcome| !(fate_is_unknown && matches!(outcome.fate, Fate::GivenBack { .. })))
            .map(|mut outcome| {
                outcome.tried |= fate_is_unknown;
                outcome
            })
            .collect();
        again.append(&mut self.waiting);
        self.waiting = again;
    }

    /// Holds the next call back: a destination refused an outcome.
    pub(crate) fn hold_until(&mut self, at: Instant) {
        self.not_before = Some(at);
    }
}
