//! What is listed, and what keys hold.

use crate::keys::Key;
use crate::redis::{Call, Redis, RedisError, Reply, Script};

static UNLIST_QUEUE: Script = Script::new("unlist_queue", include_str!("../../lua/unlist_queue.lua"));
static COUNT_RECOVERIES: Script =
    Script::new("count_recoveries", include_str!("../../lua/count_recoveries.lua"));
static LIST_TYPES: Script = Script::new("list_types", include_str!("../../lua/list_types.lua"));

/// Takes the queue `name` off the listings, unless a job waits on it: then nothing is changed, and the answer is
/// false. A live process that reads it lists it again.
///
/// # Errors
/// When Redis does not take it, or the queue's key holds something that is no list.
pub async fn unlist_queue(redis: &Redis, name: &str) -> Result<bool, RedisError> {
    let keys = redis.keys();
    let call = Call::new().key(keys.queue(name)).key(keys.queues()).key(keys.paused_queues());
    let mut replies = redis.call(&UNLIST_QUEUE, call.key(keys.live_queues()).arg(name)).await?;
    Ok(replies.take()?.int()? == 1)
}

/// What each of `keys` holds, as the command `TYPE` spells it; `none` for one that is not there. At most
/// [`BATCH_LIMIT`](super::BATCH_LIMIT) keys a call.
///
/// # Errors
/// When Redis cannot be read.
pub async fn list_types(redis: &Redis, keys: &[Key]) -> Result<Vec<String>, RedisError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let call = keys.iter().fold(Call::new(), |call, key| call.key(key));
    redis.call(&LIST_TYPES, call).await?.take()?.texts()
}

/// How often the jobs that `counters` stand for were recovered from dead processes since they last came to an end: 0
/// for a counter that is not there, or is no number. At most [`BATCH_LIMIT`](super::BATCH_LIMIT) a call.
///
/// # Errors
/// When Redis cannot be read.
pub async fn count_recoveries(redis: &Redis, counters: &[Key]) -> Result<Vec<i64>, RedisError> {
    if counters.is_empty() {
        return Ok(Vec::new());
    }
    let call = counters.iter().fold(Call::new(), |call, key| call.key(key));
    redis.call(&COUNT_RECOVERIES, call).await?.take()?.array()?.iter().map(Reply::int).collect()
}
