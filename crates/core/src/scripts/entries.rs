//! Entries of queues and sorted sets, as somebody looks at them, deletes them or puts them back.

use bytes::Bytes;

use super::{BATCH_BYTES, BATCH_LIMIT, KeyPositions};
use crate::keys::Key;
use crate::locks::JobLocks;
use crate::page::Page;
use crate::raw_job::RawJob;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static PEEK_ENTRIES: Script = Script::new("peek_entries", include_str!("../../lua/peek_entries.lua"));
static DELETE_ENTRIES: Script = Script::new("delete_entries", include_str!("../../lua/delete_entries.lua"));
static REQUEUE_ENTRIES: Script = Script::new(
    "requeue_entries",
    concat!(include_str!("../../lua/parts/note_status.lua"), include_str!("../../lua/requeue_entries.lua")),
);

/// Where entries are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntrySource {
    /// A list; the entry that is taken next stands at its right end.
    List(Key),
    /// A sorted set.
    SortedSet(Key),
}

impl EntrySource {
    fn is_set(&self) -> bool {
        matches!(self, Self::SortedSet(_))
    }

    pub(super) fn call(&self) -> Call {
        match self {
            Self::List(key) => Call::new().key(key).arg("l"),
            Self::SortedSet(key) => Call::new().key(key).arg("z"),
        }
    }
}

/// Reads a slice of the entries that are taken or due first, after `skip` of them: as many as one call
/// may carry.
///
/// # Errors
/// When Redis cannot be read.
pub async fn peek_entries(redis: &Redis, source: &EntrySource, skip: u64) -> Result<Page<Bytes>, RedisError> {
    let call = source.call().arg(skip).arg(BATCH_LIMIT).arg(BATCH_BYTES);
    let mut replies = redis.call(&PEEK_ENTRIES, call).await?;
    let total = replies.take()?.int()?.max(0) as u64;
    Ok(Page { total, entries: replies.take()?.byte_strings()? })
}

/// Deletes entries by their exact bytes, and frees the locks that their jobs hold (P-34). Those of a sorted set lose
/// the log of their attempts too (WEBJ-06). One element for each: false when it was not there. At most
/// [`BATCH_LIMIT`] a call.
///
/// # Errors
/// When Redis does not take it.
pub async fn delete_entries(
    redis: &Redis,
    source: &EntrySource,
    entries: &[Bytes],
) -> Result<Vec<bool>, RedisError> {
    let mut call = source.call();
    let mut positions = KeyPositions::default();
    for entry in entries {
        // What is no job has no locks.
        let job = RawJob::parse(entry).ok();
        let locks = job.as_ref().map(|job| JobLocks::of(job, redis.keys())).unwrap_or_default();
        let jid = job.as_ref().map(RawJob::jid).filter(|jid| !jid.is_empty() && source.is_set());
        call.push(entry);
        call.push(locks.jid);
        positions.push(locks.unique, &mut call);
        positions.push(locks.running, &mut call);
        positions.push(jid.map(|jid| redis.keys().job_attempts(jid)), &mut call);
    }
    let codes = redis.call(&DELETE_ENTRIES, call).await?.take()?.bytes()?;
    Ok(codes.iter().map(|code| *code == b'1').collect())
}

/// An entry to put on its queue.
#[derive(Debug)]
pub struct Requeue {
    /// The entry.
    pub entry: Bytes,
    /// What is pushed.
    pub payload: Vec<u8>,
    /// The queue.
    pub queue: String,
    /// The job's id; its status becomes `queued` again, where it has one.
    pub jid: String,
    /// The job's locks.
    pub locks: JobLocks,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequeueStep {
    /// It is on its queue.
    Requeued,
    /// It was not there any more.
    Gone,
    /// Another job holds its unique lock: it stays.
    Duplicate,
    /// Its queue refused it: it stays.
    Refused,
}

/// Puts entries of the sorted set `source` on their queues, each once (CLAIM-01, CLAIM-02, CLAIM-04), and
/// takes locks that are free for `lock_ttl` seconds. Where `keep_duplicates`, an entry stays whose unique
/// lock another job holds. At most [`BATCH_LIMIT`] a call. Why the first refused one was refused comes
/// with the steps.
///
/// # Errors
/// When the call fails as a whole.
pub async fn requeue_entries(
    redis: &Redis,
    source: Key,
    entries: Vec<Requeue>,
    lock_ttl: u64,
    keep_duplicates: bool,
) -> Result<(Vec<RequeueStep>, Option<RedisError>), RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(source)
        .key(keys.queues())
        .arg(if keep_duplicates { "1" } else { "0" })
        .arg(lock_ttl)
        .arg(EpochSeconds::now().as_f64());
    let mut positions = KeyPositions::default();
    for Requeue { entry, payload, queue, jid, locks } in entries {
        call.push(entry);
        call.push(payload);
        positions.push(Some(keys.queue(&queue)), &mut call);
        call.push(queue);
        let status = (!jid.is_empty()).then(|| keys.status(&jid));
        call.push(jid);
        positions.push(locks.unique, &mut call);
        positions.push(locks.running.filter(|_| locks.until_executed), &mut call);
        positions.push(status, &mut call);
    }
    let mut replies = redis.call(&REQUEUE_ENTRIES, call).await?;
    let codes = replies.take()?.bytes()?;
    let steps = codes
        .iter()
        .map(|code| match code {
            b'1' => RequeueStep::Requeued,
            b'd' => RequeueStep::Duplicate,
            b'e' => RequeueStep::Refused,
            _ => RequeueStep::Gone,
        })
        .collect();
    Ok((steps, replies.take_error().await?))
}
