//! Settling jobs: the one place where a job leaves the in-progress list.

use bytes::Bytes;

use super::Step;
use crate::formats::{ATTEMPTS_KEPT, ATTEMPTS_TTL, THROUGHPUT_TTL};
use crate::redis::{Arg, Call, IntoArg, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static SETTLE_JOBS: Script = Script::new("settle_jobs", include_str!("../../lua/settle_jobs.lua"));

/// Keys before those that operations name by position.
const FIXED_KEYS: usize = 4;

/// A batch of outcomes, built operation by operation. At most
/// [`BATCH_LIMIT`](super::BATCH_LIMIT) in all.
#[derive(Debug)]
pub struct SettleBatch {
    acknowledged: Vec<Bytes>,
    counters: Vec<String>,
    operations: Vec<Operation>,
    uncounted: (u64, u64),
}

#[derive(Debug)]
struct Operation {
    kind: &'static str,
    job: Bytes,
    target: Option<String>,
    score: Option<EpochSeconds>,
    entry: Bytes,
    side_key: Option<String>,
    text: Bytes,
    last: Last,
}

#[derive(Debug)]
enum Last {
    OrphanCounter(Option<String>),
    Seconds(u64),
}

/// The lock of an `until_executed` periodic run, re-taken when its job goes back on its queue
/// (REQ-07, REQ-08).
#[derive(Debug, Clone)]
pub struct RunningLock {
    /// The lock's key.
    pub key: String,
    /// The run that owns it.
    pub jid: String,
    /// How long it holds while queued, s.
    pub ttl: u64,
}

/// What became of a batch.
#[derive(Debug)]
pub struct Settled {
    /// One for each acknowledgement, in order.
    pub acknowledged: Vec<Step>,
    /// One for each other operation, in order.
    pub operations: Vec<Step>,
    /// Runs that were settled but could not be counted (processed, failed): add them to the
    /// next batch.
    pub uncounted: (u64, u64),
    /// Why the first failed operation failed.
    pub error: Option<RedisError>,
}

impl SettleBatch {
    /// An empty batch that also counts `uncounted` (processed, failed) runs of earlier ones.
    pub fn new(uncounted: (u64, u64)) -> Self {
        Self { acknowledged: Vec::new(), counters: Vec::new(), operations: Vec::new(), uncounted }
    }

    /// True without any operation.
    pub fn is_empty(&self) -> bool {
        self.acknowledged.is_empty() && self.operations.is_empty()
    }

    /// The job ran well: it is gone, and counted. Its `orphan_counter` key goes with it (RFETCH-10).
    pub fn acknowledge(&mut self, job: Bytes, orphan_counter: String) {
        self.acknowledged.push(job);
        self.counters.push(orphan_counter);
    }

    /// The job failed: `entry` is filed in the sorted set `target` (retry or dead), and the
    /// attempt recorded under `attempts`.
    pub fn file(
        &mut self,
        job: Bytes,
        target: String,
        score: EpochSeconds,
        entry: Vec<u8>,
        attempt: Option<(String, String)>,
        orphan_counter: Option<String>,
    ) {
        let (side_key, text) = attempt.unzip();
        self.operations.push(Operation {
            kind: "f",
            job,
            target: Some(target),
            score: Some(score),
            entry: entry.into(),
            side_key,
            text: text.unwrap_or_default().into(),
            last: Last::OrphanCounter(orphan_counter),
        });
    }

    /// The job failed and is given up without a trace in retry or dead.
    pub fn discard(&mut self, job: Bytes, attempt: Option<(String, String)>, orphan_counter: Option<String>) {
        let (side_key, text) = attempt.unzip();
        self.operations.push(Operation {
            kind: "x",
            job,
            target: None,
            score: None,
            entry: Bytes::new(),
            side_key,
            text: text.unwrap_or_default().into(),
            last: Last::OrphanCounter(orphan_counter),
        });
    }

    /// The job was not run, or not to its end: it goes back to the right of `queue`, next to
    /// be taken (RFETCH-09). Nothing is counted.
    pub fn give_back(&mut self, job: Bytes, queue: String, lock: Option<RunningLock>) {
        let (side_key, text, ttl) = match lock {
            Some(lock) => (Some(lock.key), Bytes::from(lock.jid), lock.ttl),
            None => (None, Bytes::new(), 0),
        };
        self.operations.push(Operation {
            kind: "b",
            job,
            target: Some(queue),
            score: None,
            entry: Bytes::new(),
            side_key,
            text,
            last: Last::Seconds(ttl),
        });
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
        .key(keys.throughput(crate::formats::epoch_hour(now)))
        .arg(THROUGHPUT_TTL.as_secs())
        .arg(ATTEMPTS_KEPT)
        .arg(ATTEMPTS_TTL.as_secs())
        .arg(batch.uncounted.0)
        .arg(batch.uncounted.1)
        .arg(batch.acknowledged.len());
    debug_assert_eq!(call.key_count(), FIXED_KEYS);
    for counter in batch.counters {
        call.push_key(counter);
    }
    for job in batch.acknowledged {
        call.push(job);
    }
    let mut key_position = KeyPositions::default();
    for operation in batch.operations {
        call.push(operation.kind);
        call.push(operation.job);
        let target = key_position.of(operation.target, &mut call);
        call.push(target);
        match operation.score {
            Some(score) => call.push(score.as_f64()),
            None => call.push(""),
        }
        call.push(operation.entry);
        let side = key_position.of(operation.side_key, &mut call);
        call.push(side);
        call.push(operation.text);
        let last = match operation.last {
            Last::OrphanCounter(key) => key_position.of(key, &mut call),
            Last::Seconds(seconds) => seconds.into_arg(),
        };
        call.push(last);
    }
    let mut replies = redis.call(&SETTLE_JOBS, call).await?;
    let acknowledged = Step::read_all(replies.take()?)?;
    let operations = Step::read_all(replies.take()?)?;
    let processed = replies.take()?.int()?.max(0) as u64;
    let failed = replies.take()?.int()?.max(0) as u64;
    let error = replies.take()?.text()?;
    Ok(Settled {
        acknowledged,
        operations,
        uncounted: (processed, failed),
        error: (!error.is_empty()).then(|| RedisError::from_reply(&error)),
    })
}

/// Declares each key once and tells its position in the script's KEYS.
#[derive(Default)]
struct KeyPositions {
    seen: std::collections::HashMap<String, usize>,
}

impl KeyPositions {
    fn of(&mut self, key: Option<String>, call: &mut Call) -> Arg {
        let Some(key) = key else { return 0usize.into_arg() };
        let position = match self.seen.get(&key) {
            Some(position) => *position,
            None => {
                call.push_key(key.clone());
                self.seen.insert(key, call.key_count());
                call.key_count()
            }
        };
        position.into_arg()
    }
}
