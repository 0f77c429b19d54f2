//! Reading what is there, in bounded slices, nested so that no name can be mistaken for a
//! pub/sub message.

use bytes::Bytes;

use super::{BATCH_BYTES, BATCH_LIMIT};
use crate::page::Page;
use crate::redis::{Call, Redis, RedisError, Reply, Script};
use crate::time::EpochSeconds;

static PAGE_LIST: Script = Script::new("page_list", include_str!("../../lua/page_list.lua"));
static PEEK_LIST: Script = Script::new("peek_list", include_str!("../../lua/peek_list.lua"));
static PAGE_SET: Script = Script::new("page_set", include_str!("../../lua/page_set.lua"));
static LIST_MEMBERS: Script = Script::new("list_members", include_str!("../../lua/list_members.lua"));
static LIST_QUEUES: Script = Script::new("list_queues", include_str!("../../lua/list_queues.lua"));
static LIST_HASHES: Script = Script::new("list_hashes", include_str!("../../lua/list_hashes.lua"));
static READ_TOTALS: Script = Script::new("read_totals", include_str!("../../lua/read_totals.lua"));

/// The most entries one page has.
pub const PAGE_LIMIT: u64 = 1000;

/// A page of a queue; the job that is taken next comes first.
pub async fn page_list(redis: &Redis, key: String, skip: u64, count: u64) -> Result<Page<Bytes>, RedisError> {
    let call = Call::new().key(key).arg(skip).arg(count.clamp(1, PAGE_LIMIT));
    let mut replies = redis.call(&PAGE_LIST, call).await?;
    Ok(Page { total: size(&replies.take()?)?, entries: replies.take()?.byte_strings()? })
}

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListEnd {
    /// Where elements are pushed.
    Left,
    /// Where elements are taken.
    Right,
}

/// The elements at one end of a list.
#[derive(Debug)]
pub struct Peeked {
    /// Beginning at the end that was asked for.
    pub elements: Vec<Bytes>,
    /// True when a limit left elements behind.
    pub more: bool,
}

/// The elements of a list after the `skip` ones at `end`: at most [`BATCH_LIMIT`] and
/// [`BATCH_BYTES`], but the first one whatever its size.
pub async fn peek_list(redis: &Redis, key: String, end: ListEnd, skip: usize) -> Result<Peeked, RedisError> {
    let call = Call::new().key(key).arg(skip).arg(BATCH_LIMIT).arg(BATCH_BYTES).arg(match end {
        ListEnd::Left => "L",
        ListEnd::Right => "R",
    });
    let mut replies = redis.call(&PEEK_LIST, call).await?;
    Ok(Peeked { elements: replies.take()?.byte_strings()?, more: replies.take()?.int()? == 1 })
}

/// A page of a sorted set, by score; `newest_first` begins with the highest.
pub async fn page_set(
    redis: &Redis,
    key: String,
    skip: u64,
    count: u64,
    newest_first: bool,
) -> Result<Page<(Bytes, EpochSeconds)>, RedisError> {
    let call = Call::new().key(key).arg(skip).arg(count.clamp(1, PAGE_LIMIT)).arg(if newest_first {
        "1"
    } else {
        "0"
    });
    let mut replies = redis.call(&PAGE_SET, call).await?;
    let total = size(&replies.take()?)?;
    let mut entries = Vec::new();
    let mut flat = replies.take()?.array()?.into_iter();
    while let (Some(entry), Some(score)) = (flat.next(), flat.next()) {
        entries.push((entry.bytes()?, EpochSeconds::new(score.float()?)));
    }
    Ok(Page { total, entries })
}

/// The members of a set of names.
pub async fn list_members(redis: &Redis, key: String) -> Result<Vec<String>, RedisError> {
    redis.call(&LIST_MEMBERS, Call::new().key(key)).await?.take()?.texts()
}

/// One queue's state.
#[derive(Debug)]
pub struct QueueState {
    /// True when no job is taken from it.
    pub paused: bool,
    /// How many jobs wait; `None` when its key is no list.
    pub length: Option<u64>,
    /// The job that is taken next.
    pub next: Option<Bytes>,
}

/// The state of each queue in `names`.
pub async fn list_queues(redis: &Redis, names: &[String]) -> Result<Vec<QueueState>, RedisError> {
    let mut call = Call::new().key(redis.keys().paused_queues());
    for name in names {
        call.push_key(redis.keys().queue(name));
        call.push(name);
    }
    let mut replies = redis.call(&LIST_QUEUES, call).await?;
    let mut states = Vec::with_capacity(names.len());
    for state in replies.take()?.array()? {
        let mut state = state.array()?.into_iter();
        let mut next = || state.next().ok_or_else(short);
        let (paused, length, job) = (next()?.int()? == 1, next()?.int()?, next()?.bytes()?);
        states.push(QueueState {
            paused,
            length: u64::try_from(length).ok(),
            next: (!job.is_empty()).then_some(job),
        });
    }
    Ok(states)
}

/// The fields and values of several hashes, in the order of `keys`.
pub async fn list_hashes(redis: &Redis, keys: Vec<String>) -> Result<Vec<Vec<(String, Bytes)>>, RedisError> {
    let count = keys.len();
    let mut call = Call::new();
    for key in keys {
        call.push_key(key);
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut replies = redis.call(&LIST_HASHES, call).await?;
    let mut hashes = Vec::with_capacity(count);
    for hash in replies.take()?.array()? {
        let mut fields = Vec::new();
        let mut flat = hash.array()?.into_iter();
        while let (Some(field), Some(value)) = (flat.next(), flat.next()) {
            fields.push((field.text()?, value.bytes()?));
        }
        hashes.push(fields);
    }
    Ok(hashes)
}

/// Counters and set sizes; `None` where a key has the wrong type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Successful runs.
    pub processed: Option<u64>,
    /// Failed runs.
    pub failed: Option<u64>,
    /// Entries in schedule.
    pub scheduled: Option<u64>,
    /// Entries in retry.
    pub retrying: Option<u64>,
    /// Entries in dead.
    pub dead: Option<u64>,
}

/// Reads counters and set sizes in one moment (CNT-08).
pub async fn read_totals(redis: &Redis) -> Result<Totals, RedisError> {
    let keys = redis.keys();
    let call = Call::new()
        .key(keys.stats_processed())
        .key(keys.stats_failed())
        .key(keys.schedule())
        .key(keys.retry())
        .key(keys.dead());
    let mut replies = redis.call(&READ_TOTALS, call).await?;
    let mut next = || replies.take()?.int().map(|number| u64::try_from(number).ok());
    Ok(Totals { processed: next()?, failed: next()?, scheduled: next()?, retrying: next()?, dead: next()? })
}

fn size(reply: &Reply) -> Result<u64, RedisError> {
    reply.int().map(|number| number.max(0) as u64)
}

fn short() -> RedisError {
    RedisError::UnexpectedReply { expected: "one more element", found: "the end of the reply".into() }
}
