//! Settling jobs: the one place where a job leaves the in-progress list.

mod earlier;
mod effect;
mod effect_args;
mod side_step;

use std::time::Duration;

use bytes::Bytes;

pub use self::earlier::{BatchShape, Earlier};
pub use self::effect::Effect;
use self::effect_args::EffectArgs;
pub use self::side_step::SideStep;
use super::{KeyPositions, Step};
use crate::formats::{ATTEMPTS_KEPT, ATTEMPTS_TTL, THROUGHPUT_TTL, epoch_hour};
use crate::history_limits::HistoryLimits;
use crate::locks::{JobLocks, JobTraces};
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::{EpochSeconds, ttl_seconds};

static SETTLE_JOBS: Script = Script::new("settle_jobs", include_str!("../../lua/settle_jobs.lua"));

/// More than any Redis holds, and exact as a number of Lua's.
const MOST_RUNS_KEPT: u64 = 1 << 50;

/// Longer than any network holds a call back.
const NUMBER_TTL: Duration = Duration::from_secs(24 * 3600);

/// How the jobs of a batch are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// On the process's in-progress list: what is no longer there is not ours any more.
    Listed,
    /// Nowhere in Redis: they were popped (basic fetch).
    Popped,
}

impl Held {
    /// As the scripts take it.
    pub(super) fn arg(self) -> &'static str {
        match self {
            Self::Listed => "1",
            Self::Popped => "0",
        }
    }
}

/// A batch of outcomes, built operation by operation. At most
/// [`BATCH_LIMIT`](super::BATCH_LIMIT) in all.
#[derive(Debug)]
pub struct SettleBatch {
    held: Held,
    acknowledged: Vec<Bytes>,
    counters: Vec<String>,
    operations: Vec<Operation>,
    /// For each outcome in the order of adding: true when it is in `acknowledged`.
    order: Vec<bool>,
    effects: Vec<(usize, Effect)>,
    history: HistoryLimits,
    number: u64,
    uncounted: (u64, u64),
}

#[derive(Debug)]
struct Operation {
    kind: &'static str,
    job: Bytes,
    target: Option<String>,
    score: Option<EpochSeconds>,
    entry: Bytes,
    traces: Traces,
    lock_ttl: u64,
}

/// What a failed run leaves beside its entry.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    /// The key of the job's attempt log, and the record to add.
    pub attempt: Option<(String, String)>,
    /// The job's own: its orphan counter goes (RFETCH-10, MAXO-08).
    pub job: JobTraces,
}

/// What became of a batch.
#[derive(Debug)]
pub struct Settled {
    /// One for each outcome, in the order of adding.
    pub steps: Vec<Step>,
    /// Runs that were settled but could not be counted (processed, failed): add them to the
    /// next batch.
    pub uncounted: (u64, u64),
    /// Why the first failed operation failed.
    pub error: Option<RedisError>,
    /// What stands beside the outcomes and could not be written (LOG-02). But for the counts, it
    /// is not tried again.
    pub side_errors: Vec<(SideStep, RedisError)>,
    /// What the last numbered batch before this one came to, if one is known.
    pub earlier: Option<Earlier>,
}

impl SettleBatch {
    /// An empty batch that also counts `uncounted` (processed, failed) runs of earlier ones.
    pub fn new(held: Held, uncounted: (u64, u64)) -> Self {
        Self {
            held,
            acknowledged: Vec::new(),
            counters: Vec::new(),
            operations: Vec::new(),
            order: Vec::new(),
            effects: Vec::new(),
            history: HistoryLimits::default(),
            number: 0,
            uncounted,
        }
    }

    /// Gives it its number, higher than those of the batches before it, which do nothing if they
    /// arrive later. What it comes to is kept under that number: after a lost reply, the next one,
    /// left empty, brings it as [`Settled::earlier`].
    pub fn with_number(&mut self, number: u64) {
        self.number = number;
    }

    /// Which of its outcomes stand in which of the script's two lists, to read [`Earlier`] by.
    pub fn shape(&self) -> BatchShape {
        BatchShape::new(self.order.clone())
    }

    /// Keeps of the history what `limits` say.
    pub fn keep_history(&mut self, limits: HistoryLimits) {
        self.history = limits;
    }

    /// Writes `effect` where the outcome that was added last applies.
    pub fn add_effect(&mut self, effect: Effect) {
        self.effects.push((self.order.len().saturating_sub(1), effect));
    }

    /// True without any outcome.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The job ran well: it is gone, and counted. Its orphan counter goes with it (RFETCH-10), and
    /// its locks are released (UNIQ-14, RUNLK-02).
    pub fn acknowledge(&mut self, job: Bytes, traces: &JobTraces) {
        match &traces.orphan_counter {
            Some(counter) if traces.locks.is_empty() => {
                self.acknowledged.push(job);
                self.counters.push(counter.clone());
                self.order.push(true);
            }
            _ => {
                let traces = Traces { attempt: None, job: traces.clone() };
                self.operate(Operation { traces, ..Operation::new("a", job) });
            }
        }
    }

    /// The job failed: `entry` is filed in the sorted set `target` (retry or dead). Its locks are
    /// held for `lock_ttl` seconds more (UNIQ-13), or released when that is 0 (UNIQ-16).
    pub fn file(
        &mut self,
        job: Bytes,
        target: String,
        score: EpochSeconds,
        entry: Vec<u8>,
        traces: Traces,
        lock_ttl: u64,
    ) {
        self.operate(Operation {
            target: Some(target),
            score: Some(score),
            entry: entry.into(),
            traces,
            lock_ttl,
            ..Operation::new("f", job)
        });
    }

    /// The job failed and cannot be filed: `record` goes to the list `unsettled`, for another
    /// process to file (UNS-01). It is counted now. Its locks are held for `lock_ttl` seconds more
    /// when that is above 0, as for a retry.
    pub fn hand_over(
        &mut self,
        job: Bytes,
        unsettled: String,
        record: Vec<u8>,
        traces: Traces,
        lock_ttl: u64,
    ) {
        self.operate(Operation {
            target: Some(unsettled),
            entry: record.into(),
            traces,
            lock_ttl,
            ..Operation::new("u", job)
        });
    }

    /// The job failed and is given up without a trace in retry or dead; its locks are released.
    pub fn discard(&mut self, job: Bytes, traces: Traces) {
        self.operate(Operation { traces, ..Operation::new("x", job) });
    }

    /// The job was not run, or not to its end: it goes back to the right of `queue`, next to
    /// be taken (RFETCH-09). Nothing is counted. The lapsed running lock of an `until_executed`
    /// run is taken again for `lock_ttl` seconds (REQ-07, REQ-08).
    pub fn give_back(&mut self, job: Bytes, queue: String, locks: &JobLocks, lock_ttl: u64) {
        let lock_ttl = if locks.until_executed { lock_ttl } else { 0 };
        self.operate(Operation {
            target: Some(queue),
            traces: Traces { attempt: None, job: JobTraces { locks: locks.clone(), ..JobTraces::default() } },
            lock_ttl,
            ..Operation::new("b", job)
        });
    }

    fn operate(&mut self, operation: Operation) {
        self.operations.push(operation);
        self.order.push(false);
    }
}

impl Operation {
    fn new(kind: &'static str, job: Bytes) -> Self {
        Self {
            kind,
            job,
            target: None,
            score: None,
            entry: Bytes::new(),
            traces: Traces::default(),
            lock_ttl: 0,
        }
    }
}

/// Carries out a batch for `identity` in one atomic step. `now` chooses the throughput hour.
pub async fn settle_jobs(
    redis: &Redis,
    identity: &str,
    now: EpochSeconds,
    batch: SettleBatch,
) -> Result<Settled, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(keys.inprogress(identity))
        .key(keys.stats_processed())
        .key(keys.stats_failed())
        .key(keys.throughput(epoch_hour(now)))
        .key(keys.history_all())
        .key(keys.history_success())
        .key(keys.history_failed())
        .key(keys.settling(identity))
        .arg(THROUGHPUT_TTL.as_secs())
        .arg(ATTEMPTS_KEPT)
        .arg(ATTEMPTS_TTL.as_secs())
        .arg(batch.uncounted.0)
        .arg(batch.uncounted.1)
        .arg(batch.held.arg())
        .arg(batch.acknowledged.len())
        .arg(batch.operations.len())
        .arg(batch.history.max_entries.min(MOST_RUNS_KEPT))
        .arg(now.as_f64() - batch.history.retention.as_secs_f64())
        .arg(ttl_seconds(batch.history.daily_retention))
        .arg(batch.number)
        .arg(NUMBER_TTL.as_secs());
    let numbers = numbers_of(&batch.order);
    for counter in batch.counters {
        call.push_key(counter);
    }
    for job in batch.acknowledged {
        call.push(job);
    }
    let mut positions = KeyPositions::default();
    for operation in batch.operations {
        let (attempts, record) = operation.traces.attempt.unzip();
        call.push(operation.kind);
        call.push(operation.job);
        positions.push(operation.target, &mut call);
        match operation.score {
            Some(score) => call.push(score.as_f64()),
            None => call.push(""),
        }
        call.push(operation.entry);
        positions.push(attempts, &mut call);
        call.push(record.unwrap_or_default());
        let JobTraces { orphan_counter, locks, .. } = operation.traces.job;
        positions.push(orphan_counter, &mut call);
        call.push(locks.jid);
        positions.push(locks.unique, &mut call);
        // Held only where it was ever taken.
        let running = locks.running.filter(|_| operation.lock_ttl == 0 || locks.until_executed);
        positions.push(running, &mut call);
        call.push(operation.lock_ttl);
    }
    let mut effects = EffectArgs::default();
    for (outcome, effect) in batch.effects {
        if let Some(number) = numbers.get(outcome) {
            effects.add(*number, effect);
        }
    }
    effects.push_to(&mut call, &mut positions, keys, now);
    let mut replies = redis.call(&SETTLE_JOBS, call).await?;
    let acknowledged = Step::read_all(&replies.take()?.bytes()?)?;
    let operations = Step::read_all(&replies.take()?.bytes()?)?;
    let processed = replies.take()?.int()?.max(0) as u64;
    let failed = replies.take()?.int()?.max(0) as u64;
    let error = replies.take_error().await?;
    let mut side_errors = Vec::new();
    let mut failed_steps = replies.take()?.texts()?.into_iter();
    while let (Some(code), Some(text)) = (failed_steps.next(), failed_steps.next()) {
        side_errors.push((SideStep::of_code(&code)?, replies.error(&text).await));
    }
    let earlier = Earlier::read(replies.take()?)?;
    let Some(steps) = BatchShape::new(batch.order).in_order(acknowledged, operations) else {
        // It came late, and nothing was done.
        let found = "fewer".into();
        return Err(
            error.unwrap_or(RedisError::UnexpectedReply { expected: "a code for each outcome", found })
        );
    };
    Ok(Settled { steps, uncounted: (processed, failed), error, side_errors, earlier })
}

/// The number of each outcome in the script's count: acknowledged jobs first.
fn numbers_of(order: &[bool]) -> Vec<usize> {
    let mut acknowledged = 0;
    let mut operations = order.iter().filter(|in_line| **in_line).count();
    let mut next = |in_line: &bool| {
        let counter = if *in_line { &mut acknowledged } else { &mut operations };
        *counter += 1;
        *counter
    };
    order.iter().map(&mut next).collect()
}
