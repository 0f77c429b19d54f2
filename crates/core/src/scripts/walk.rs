//! Going through a sorted set while others change it.

use bytes::Bytes;

use super::{BATCH_BYTES, BATCH_LIMIT};
use crate::keys::Key;
use crate::redis::{Call, Redis, RedisError, Reply, Script};
use crate::time::EpochSeconds;

static WALK_SET: Script = Script::new("walk_set", include_str!("../../lua/walk_set.lua"));

/// An entry that a walk came by.
#[derive(Debug, Clone, PartialEq)]
pub struct Passed {
    /// The how many-th of its step it was, from 1 on.
    pub place: u64,
    /// The stored bytes.
    pub entry: Bytes,
    /// Its score.
    pub score: EpochSeconds,
}

/// One step through a sorted set.
#[derive(Debug)]
pub struct WalkStep {
    /// How many entries the set has.
    pub total: u64,
    /// How many of them this step looked at; 0 at the end.
    pub looked_at: u64,
    /// Those that hold the text, by score.
    pub found: Vec<Passed>,
    /// The last one that does not.
    pub last_other: Option<Passed>,
}

/// Looks at the entries of `key` that come after `after` by score, at most [`BATCH_LIMIT`] and
/// [`BATCH_BYTES`] of them, and gives those that hold `text`: all for an empty one.
///
/// Go on after the last entry that stays. What is then added or taken away before it changes nothing; when it is
/// gone itself, entries of the same score may come again.
///
/// # Errors
/// When Redis cannot be read.
pub async fn walk_set(
    redis: &Redis,
    key: Key,
    after: Option<&(Bytes, EpochSeconds)>,
    text: &str,
) -> Result<WalkStep, RedisError> {
    let (entry, score) = match after {
        // Of infinite scores the first of all.
        Some((entry, EpochSeconds::FIRST)) => (entry.clone(), "-inf".to_owned()),
        Some((entry, score)) => (entry.clone(), score.to_string()),
        None => (Bytes::new(), String::new()),
    };
    let call = Call::new().key(key).arg(entry).arg(score);
    let mut replies = redis.call(&WALK_SET, call.arg(text).arg(BATCH_LIMIT).arg(BATCH_BYTES)).await?;
    let mut size = || replies.take()?.int().map(|size| size.max(0) as u64);
    let (total, looked_at) = (size()?, size()?);
    let found = passed(replies.take()?)?;
    Ok(WalkStep { total, looked_at, found, last_other: passed(replies.take()?)?.pop() })
}

fn passed(reply: Reply) -> Result<Vec<Passed>, RedisError> {
    let mut flat = reply.array()?.into_iter();
    let mut entries = Vec::with_capacity(flat.len() / 3);
    while let (Some(place), Some(entry), Some(score)) = (flat.next(), flat.next(), flat.next()) {
        let place = place.int()?.max(0) as u64;
        entries.push(Passed { place, entry: entry.bytes()?, score: EpochSeconds::new(score.float()?) });
    }
    Ok(entries)
}
