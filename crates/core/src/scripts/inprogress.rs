//! What a process holds, and what of it others are shown.

use bytes::Bytes;

use super::BATCH_LIMIT;
use crate::redis::{Call, Redis, RedisError, Script};

static LIST_INPROGRESS: Script =
    Script::new("list_inprogress", include_str!("../../lua/list_inprogress.lua"));
static NEWEST_INPROGRESS: Script =
    Script::new("newest_inprogress", include_str!("../../lua/newest_inprogress.lua"));
static PUBLISH_WORK: Script = Script::new("publish_work", include_str!("../../lua/publish_work.lua"));

/// The jobs on `identity`'s in-progress list, newest first, at most the `limit` oldest.
pub async fn list_inprogress(redis: &Redis, identity: &str, limit: usize) -> Result<Vec<Bytes>, RedisError> {
    let call = Call::new().key(redis.keys().inprogress(identity)).arg(limit);
    redis.call(&LIST_INPROGRESS, call).await?.take()?.byte_strings()
}

/// The jobs on `identity`'s in-progress list after the `skip` newest, newest first; at most
/// [`BATCH_LIMIT`].
pub async fn newest_inprogress(redis: &Redis, identity: &str, skip: usize) -> Result<Vec<Bytes>, RedisError> {
    let call = Call::new().key(redis.keys().inprogress(identity)).arg(skip).arg(BATCH_LIMIT);
    redis.call(&NEWEST_INPROGRESS, call).await?.take()?.byte_strings()
}

/// Shows `running` (slot, work JSON) and clears `ended` slots in the process's work hash
/// (PROC-02), whose TTL is `ttl` seconds.
pub async fn publish_work(
    redis: &Redis,
    identity: &str,
    ttl: u64,
    running: Vec<(String, Vec<u8>)>,
    ended: &[String],
) -> Result<(), RedisError> {
    let mut call = Call::new().key(redis.keys().workers(identity)).arg(ttl).arg(running.len());
    for (slot, work) in running {
        call.push(slot);
        call.push(work);
    }
    for slot in ended {
        call.push(slot);
    }
    redis.call(&PUBLISH_WORK, call).await.map(|_| ())
}
