//! Entries of sorted sets, as somebody moves them by hand.

use bytes::Bytes;

use super::{KeyPositions, Step};
use crate::keys::Key;
use crate::locks::JobLocks;
use crate::raw_job::RawJob;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static KILL_ENTRIES: Script = Script::new("kill_entries", include_str!("../../lua/kill_entries.lua"));
static RESCHEDULE_ENTRIES: Script =
    Script::new("reschedule_entries", include_str!("../../lua/reschedule_entries.lua"));

/// Moves entries of the sorted set `source` into dead with the score `at`, byte by byte as they are, and frees the
/// locks that their jobs hold. At most [`BATCH_LIMIT`](super::BATCH_LIMIT) a call; [`Step::Failed`] is one that dead
/// refused, and why the first was comes with the steps. `source` is not dead itself.
///
/// # Errors
/// When the call fails as a whole.
pub async fn kill_entries(
    redis: &Redis,
    source: Key,
    entries: &[Bytes],
    at: EpochSeconds,
) -> Result<(Vec<Step>, Option<RedisError>), RedisError> {
    let mut call = Call::new().key(source).key(redis.keys().dead()).arg(at.to_string());
    let mut positions = KeyPositions::default();
    for entry in entries {
        let locks = RawJob::parse(entry).map(|job| JobLocks::of(&job, redis.keys())).unwrap_or_default();
        call.push(entry);
        call.push(locks.jid);
        positions.push(locks.unique, &mut call);
        positions.push(locks.running, &mut call);
    }
    let mut replies = redis.call(&KILL_ENTRIES, call).await?;
    let steps = Step::read_all(&replies.take()?.bytes()?)?;
    Ok((steps, replies.take_error().await?))
}

/// Gives entries of a sorted set the score `at`. One element for each: false when it was not there. At most
/// [`BATCH_LIMIT`](super::BATCH_LIMIT) a call.
///
/// # Errors
/// When Redis does not take it.
pub async fn reschedule_entries(
    redis: &Redis,
    source: Key,
    entries: &[Bytes],
    at: EpochSeconds,
) -> Result<Vec<bool>, RedisError> {
    let call = Call::new().key(source).arg(at.to_string());
    let call = entries.iter().fold(call, |call, entry| call.arg(entry));
    let codes = redis.call(&RESCHEDULE_ENTRIES, call).await?.take()?.bytes()?;
    Ok(codes.iter().map(|code| *code == b'1').collect())
}
