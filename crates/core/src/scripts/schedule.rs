//! Jobs that are due later: filing them, finding the due ones, moving them on.

use bytes::Bytes;

use super::{FailureCount, Step};
use crate::formats::{THROUGHPUT_TTL, epoch_hour};
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static SCHEDULE_JOBS: Script = Script::new("schedule_jobs", include_str!("../../lua/schedule_jobs.lua"));
static DUE_JOBS: Script = Script::new("due_jobs", include_str!("../../lua/due_jobs.lua"));
static MOVE_ENTRIES: Script = Script::new(
    "move_entries",
    concat!(include_str!("../../lua/parts/count_failed.lua"), include_str!("../../lua/move_entries.lua"),),
);

/// Files jobs by due time, and wakes the pollers if one is due before all the others.
/// At most [`BATCH_LIMIT`](super::BATCH_LIMIT) a call.
pub async fn schedule_jobs(redis: &Redis, jobs: Vec<(EpochSeconds, Vec<u8>)>) -> Result<u64, RedisError> {
    let mut call = Call::new().key(redis.keys().schedule()).arg(redis.keys().wake_channel());
    for (at, job) in jobs {
        call.push(at.as_f64());
        call.push(job);
    }
    Ok(redis.call(&SCHEDULE_JOBS, call).await?.take()?.int()?.max(0) as u64)
}

/// Entries that are due, and when the next one will be.
#[derive(Debug)]
pub struct DueJobs {
    /// The due entries, earliest first.
    pub entries: Vec<Bytes>,
    /// True when a limit may have left due entries behind.
    pub more: bool,
    /// The score of the first entry that is not due yet.
    pub next: Option<EpochSeconds>,
}

/// Reads up to `limit` entries of the sorted set `source` that are due at `now`, and no more than
/// `bytes` of them; the first one comes whatever its size.
pub async fn due_jobs(
    redis: &Redis,
    source: String,
    now: EpochSeconds,
    limit: usize,
    bytes: usize,
) -> Result<DueJobs, RedisError> {
    let call = Call::new().key(source).arg(now.as_f64()).arg(limit).arg(bytes);
    let mut replies = redis.call(&DUE_JOBS, call).await?;
    let entries = replies.take()?.byte_strings()?;
    let more = replies.take()?.int()? == 1;
    let next = replies.take()?.text()?.parse().ok().map(EpochSeconds::new);
    Ok(DueJobs { entries, more, next })
}

/// Moves out of one sorted set, built entry by entry. At most
/// [`BATCH_LIMIT`](super::BATCH_LIMIT).
#[derive(Debug)]
pub struct Moves {
    source: String,
    postpone_to: Option<EpochSeconds>,
    operations: Vec<Move>,
}

#[derive(Debug)]
enum Move {
    ToQueue { entry: Bytes, payload: Vec<u8>, queue: String },
    ToDead { entry: Bytes, payload: Vec<u8>, score: EpochSeconds },
}

/// What became of the moves.
#[derive(Debug)]
pub struct Moved {
    /// One for each entry, in order.
    pub steps: Vec<Step>,
    /// Why the first failed move failed.
    pub error: Option<RedisError>,
    /// How many of the failed ones were postponed. The others stand where they stood.
    pub postponed: usize,
    /// How the burials among them were counted.
    pub count: FailureCount,
}

impl Moves {
    /// Moves out of `source`. An entry whose destination refuses it gets the score
    /// `postpone_to`, so that it does not stand before the others (SCHED-08).
    pub fn new(source: String, postpone_to: Option<EpochSeconds>) -> Self {
        Self { source, postpone_to, operations: Vec::new() }
    }

    /// `entry` becomes `payload` at the left of `queue` (SCHED-01).
    pub fn to_queue(&mut self, entry: Bytes, payload: Vec<u8>, queue: &str) {
        self.operations.push(Move::ToQueue { entry, payload, queue: queue.to_owned() });
    }

    /// `entry` becomes `payload` in dead, counted as a failure (SCHED-05).
    pub fn to_dead(&mut self, entry: Bytes, payload: Vec<u8>, score: EpochSeconds) {
        self.operations.push(Move::ToDead { entry, payload, score });
    }

    /// True without any entry.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

/// Carries out the moves, each once: an entry that is gone is left alone (CLAIM-01, CLAIM-02).
pub async fn move_entries(redis: &Redis, moves: Moves) -> Result<Moved, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(moves.source)
        .key(keys.queues())
        .key(keys.dead())
        .key(keys.stats_failed())
        .key(keys.throughput(epoch_hour(EpochSeconds::now())));
    match moves.postpone_to {
        Some(score) => call.push(score.as_f64()),
        None => call.push(""),
    }
    call.push(THROUGHPUT_TTL.as_secs());
    let mut positions = std::collections::HashMap::new();
    for operation in moves.operations {
        match operation {
            Move::ToQueue { entry, payload, queue } => {
                let position = *positions.entry(queue.clone()).or_insert_with(|| {
                    call.push_key(keys.queue(&queue));
                    call.key_count()
                });
                call.push("q");
                call.push(entry);
                call.push(payload);
                call.push(position);
                call.push(queue);
            }
            Move::ToDead { entry, payload, score } => {
                call.push("d");
                call.push(entry);
                call.push(payload);
                call.push(0usize);
                call.push(score.as_f64());
            }
        }
    }
    let mut replies = redis.call(&MOVE_ENTRIES, call).await?;
    let steps = Step::read_all(&replies.take()?.bytes()?)?;
    let error = replies.take_error().await?;
    let postponed = replies.take()?.int()?.max(0) as usize;
    Ok(Moved { steps, error, postponed, count: FailureCount::read(&mut replies).await? })
}
