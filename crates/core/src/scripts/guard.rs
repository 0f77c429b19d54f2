//! Moving keys of the wrong type away.

use std::time::Duration;

use crate::jid::random_hex;
use crate::keys::{Key, KeyType};
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static QUARANTINE_KEYS: Script =
    Script::new("quarantine_keys", include_str!("../../lua/quarantine_keys.lua"));

/// How long what was moved away is kept (GUARD-01).
pub const QUARANTINE_TTL: Duration = Duration::from_secs(30 * 86_400);

/// A key that held the wrong type.
#[derive(Debug)]
pub struct WrongKey {
    /// The key.
    pub key: Key,
    /// What it held, as the command `TYPE` spells it.
    pub found: String,
    /// What it should hold.
    pub expected: KeyType,
    /// Where it is now; an error when it is still where it was.
    pub moved_to: Result<Key, RedisError>,
}

/// Moves those of `keys` away that hold another type than they should; absent ones are right
/// (GUARD-01, GUARD-06). At most [`BATCH_LIMIT`](super::BATCH_LIMIT) keys a call.
pub async fn quarantine_keys(redis: &Redis, keys: &[(Key, KeyType)]) -> Result<Vec<WrongKey>, RedisError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    // The keys differ, so one random part tells this call's copies from all others.
    let (now, random) = ((EpochSeconds::now().as_f64() * 1000.0) as u64, random_hex(4));
    let copy_of = |key: &str| redis.keys().quarantine(key, now, &random);
    let mut call = Call::new().arg(QUARANTINE_TTL.as_secs());
    for (key, expected) in keys {
        call.push_key(key);
        call.push(expected.name());
    }
    for (key, _) in keys {
        call.push_key(copy_of(key));
    }
    let mut wrong = Vec::new();
    let mut replies = redis.call(&QUARANTINE_KEYS, call).await?;
    for entry in replies.take()?.array()? {
        let mut entry = entry.array()?.into_iter();
        let (Some(position), Some(found), Some(problem)) = (entry.next(), entry.next(), entry.next()) else {
            return Err(unexpected("position, type and error"));
        };
        let index = usize::try_from(position.int()? - 1).ok();
        let Some((key, expected)) = index.and_then(|index| keys.get(index)) else {
            return Err(unexpected("the position of a key"));
        };
        let problem = problem.text()?;
        let problem = if problem.is_empty() { None } else { Some(replies.error(&problem).await) };
        // A demoted server refuses every move, and looks as if each key stood in the way by itself.
        if let Some(failure) = problem.as_ref().filter(|failure| failure.is_outage()) {
            return Err(failure.clone());
        }
        wrong.push(WrongKey {
            key: key.clone(),
            found: found.text()?,
            expected: *expected,
            moved_to: problem.map_or_else(|| Ok(copy_of(key)), Err),
        });
    }
    Ok(wrong)
}

fn unexpected(expected: &'static str) -> RedisError {
    RedisError::UnexpectedReply { expected, found: "something else".into() }
}
