//! Taking jobs off queues.

use bytes::Bytes;

use super::{BATCH_LIMIT, Held};
use crate::redis::{Call, Redis, RedisError, Reply, Script};

static FETCH_JOBS: Script = Script::new("fetch_jobs", include_str!("../../lua/fetch_jobs.lua"));

/// What one fetch brought.
#[derive(Debug, Default)]
pub struct Fetched {
    /// Jobs by the queue they came from, in the order of the call.
    pub taken: Vec<TakenFrom>,
    /// Indexes (into the call's queues) of paused ones.
    pub paused: Vec<usize>,
    /// Queues that could not be read.
    pub errors: Vec<QueueError>,
}

/// Jobs taken from one queue.
#[derive(Debug)]
pub struct TakenFrom {
    /// Index into the call's queues.
    pub queue: usize,
    /// The raw jobs, oldest first.
    pub jobs: Vec<Bytes>,
}

/// Why one queue was passed over.
#[derive(Debug)]
pub struct QueueError {
    /// Index into the call's queues.
    pub queue: usize,
    /// What Redis said.
    pub error: RedisError,
}

impl Fetched {
    /// How many jobs came.
    pub fn count(&self) -> usize {
        self.taken.iter().map(|taken| taken.jobs.len()).sum()
    }
}

/// Takes up to `room` (at most [`BATCH_LIMIT`]) jobs from `queues`, in that order, skipping paused
/// queues: onto `identity`'s in-progress list (RFETCH-01, RFETCH-03), or for good, when what a lost
/// reply took is lost (BFETCH-01 to BFETCH-04).
pub async fn fetch_jobs<Q: AsRef<str>>(
    redis: &Redis,
    identity: &str,
    held: Held,
    queues: &[Q],
    room: usize,
) -> Result<Fetched, RedisError> {
    let mut call = Call::new()
        .key(redis.keys().inprogress(identity))
        .key(redis.keys().paused_queues())
        .arg(room.min(BATCH_LIMIT))
        .arg(held.arg());
    for queue in queues {
        call.push_key(redis.keys().queue(queue.as_ref()));
        call.push(queue.as_ref());
    }
    let mut replies = redis.call(&FETCH_JOBS, call).await?;
    let position = |reply: Reply| reply.int().map(|at| (at - 1).max(0) as usize);
    let paused = replies.take()?.array()?.into_iter().map(position).collect::<Result<_, _>>()?;
    let mut errors = Vec::new();
    let mut refused = replies.take()?.array()?.into_iter();
    while let (Some(queue), Some(text)) = (refused.next(), refused.next()) {
        errors.push(QueueError { queue: position(queue)?, error: replies.error(&text.text()?).await });
    }
    let mut taken = Vec::new();
    let mut from = replies.take()?.array()?.into_iter();
    while let (Some(queue), Some(jobs)) = (from.next(), from.next()) {
        taken.push(TakenFrom { queue: position(queue)?, jobs: jobs.byte_strings()? });
    }
    Ok(Fetched { taken, paused, errors })
}
