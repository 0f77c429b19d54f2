//! Searching the history where it is.

use bytes::Bytes;

use super::PAGE_LIMIT;
use crate::keys::Key;
use crate::redis::{Call, Redis, RedisError, Script};

static FIND_RUNS: Script = Script::new("find_runs", include_str!("../../lua/find_runs.lua"));

/// What a search through a slice found.
#[derive(Debug)]
pub struct FoundRuns {
    /// How many records there are in all.
    pub total: u64,
    /// How many this slice had.
    pub searched: u64,
    /// Those that hold the text, the newest first.
    pub records: Vec<Bytes>,
}

/// Looks for `text` in up to a thousand records of the history `key`, after `skip` newer ones.
///
/// # Errors
/// When Redis cannot be read.
pub async fn find_runs(redis: &Redis, key: Key, skip: u64, text: &str) -> Result<FoundRuns, RedisError> {
    let call = Call::new().key(key).arg(skip).arg(PAGE_LIMIT).arg(text);
    let mut replies = redis.call(&FIND_RUNS, call).await?;
    let mut size = || replies.take()?.int().map(|size| size.max(0) as u64);
    let (total, searched) = (size()?, size()?);
    Ok(FoundRuns { total, searched, records: replies.take()?.byte_strings()? })
}
