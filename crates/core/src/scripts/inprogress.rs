//! What a process holds, and what of it others are shown.

use bytes::Bytes;

use crate::keys::Key;
use crate::redis::{Call, Redis, RedisError, Script};

static LIST_INPROGRESS: Script =
    Script::new("list_inprogress", include_str!("../../lua/list_inprogress.lua"));
static COUNT_INPROGRESS: Script =
    Script::new("count_inprogress", include_str!("../../lua/count_inprogress.lua"));
static PUBLISH_WORK: Script = Script::new("publish_work", include_str!("../../lua/publish_work.lua"));

/// The jobs on `identity`'s in-progress list, newest first, at most the `limit` oldest. `None`
/// when there are `known` of them, which spares sending large jobs again and again.
pub async fn list_inprogress(
    redis: &Redis,
    identity: &str,
    limit: usize,
    known: Option<usize>,
) -> Result<Option<Vec<Bytes>>, RedisError> {
    let call = Call::new().key(redis.keys().inprogress(identity)).arg(limit);
    let call = match known {
        Some(known) => call.arg(known),
        None => call.arg("-1"),
    };
    let mut replies = redis.call(&LIST_INPROGRESS, call).await?;
    let as_known = replies.take()?.int()? == 1;
    let jobs = replies.take()?.byte_strings()?;
    Ok((!as_known).then_some(jobs))
}

/// How many jobs each of `identities` holds (`None` for a key of another type), and whether its
/// presence stands. At most [`BATCH_LIMIT`](super::BATCH_LIMIT) of them.
pub async fn count_inprogress(
    redis: &Redis,
    identities: &[String],
) -> Result<Vec<(Option<u64>, bool)>, RedisError> {
    if identities.is_empty() {
        return Ok(Vec::new());
    }
    let mut call = Call::new();
    for identity in identities {
        call.push_key(redis.keys().inprogress(identity));
        call.push_key(redis.keys().process(identity));
    }
    let mut counts = redis.call(&COUNT_INPROGRESS, call).await?.take()?.array()?.into_iter();
    let mut held = Vec::with_capacity(identities.len());
    while let (Some(count), Some(lives)) = (counts.next(), counts.next()) {
        held.push((u64::try_from(count.int()?).ok(), lives.int()? == 1));
    }
    Ok(held)
}

/// Fields of one job's status.
#[derive(Debug, Default)]
pub struct StatusWrite {
    /// The job's status key.
    pub key: Key,
    /// The job, where they are to be written only while it is in progress.
    pub job: Option<Bytes>,
    /// Fields and values.
    pub fields: Vec<(String, String)>,
}

/// What others are shown of a process's runs.
#[derive(Debug, Default)]
pub struct PublishedWork {
    /// Slots to show, each with its work as JSON (PROC-02).
    pub running: Vec<(String, Vec<u8>)>,
    /// Slots to clear.
    pub ended: Vec<String>,
    /// Fields to write to the statuses of jobs (STAT-02, STAT-05).
    pub statuses: Vec<StatusWrite>,
    /// How long a status is kept after this, s.
    pub status_ttl: u64,
}

impl PublishedWork {
    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.ended.is_empty() && self.statuses.is_empty()
    }
}

/// Shows `work` in the process's work hash, whose TTL is `ttl` seconds. Why a status could not be
/// written, if one could not.
pub async fn publish_work(
    redis: &Redis,
    identity: &str,
    ttl: u64,
    work: PublishedWork,
) -> Result<Option<RedisError>, RedisError> {
    let mut call = Call::new()
        .key(redis.keys().workers(identity))
        .key(redis.keys().inprogress(identity))
        .arg(ttl)
        .arg(work.running.len())
        .arg(work.ended.len())
        .arg(work.status_ttl);
    for (slot, json) in work.running {
        call.push(slot);
        call.push(json);
    }
    for slot in work.ended {
        call.push(slot);
    }
    for status in work.statuses {
        call.push_key(status.key);
        call.push(status.job.unwrap_or_default());
        call.push(status.fields.len());
        for (field, value) in status.fields {
            call.push(field);
            call.push(value);
        }
    }
    redis.call(&PUBLISH_WORK, call).await?.take_error().await
}
