//! What processes say of themselves.

use std::time::Duration;

use bytes::Bytes;

use crate::redis::{Call, Redis, RedisError, Script};

static LIST_PROCESSES: Script = Script::new("list_processes", include_str!("../../lua/list_processes.lua"));

/// A process, as its last heartbeat left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRecord {
    /// What it says of itself, as JSON; empty when it has no presence.
    pub info: Bytes,
    /// How many jobs it ran at its last heartbeat, as text.
    pub busy: Bytes,
    /// `true` when it takes no new jobs.
    pub quiet: Bytes,
    /// How long its presence still holds; `None` when it has none, or one without an end.
    pub life: Option<Duration>,
    /// How many jobs it runs now.
    pub running: u64,
}

/// What each of `identities` says of itself, at most [`BATCH_LIMIT`](super::BATCH_LIMIT) of them.
pub async fn list_processes(redis: &Redis, identities: &[String]) -> Result<Vec<ProcessRecord>, RedisError> {
    if identities.is_empty() {
        return Ok(Vec::new());
    }
    let mut call = Call::new();
    for identity in identities {
        call.push_key(redis.keys().process(identity));
        call.push_key(redis.keys().workers(identity));
    }
    let mut replies = redis.call(&LIST_PROCESSES, call).await?;
    let mut records = Vec::with_capacity(identities.len());
    for record in replies.take()?.array()? {
        let mut fields = record.array()?.into_iter();
        let mut next = || {
            fields.next().ok_or_else(|| RedisError::UnexpectedReply {
                expected: "one more field of a process",
                found: "the end of the reply".into(),
            })
        };
        records.push(ProcessRecord {
            info: next()?.bytes()?,
            busy: next()?.bytes()?,
            quiet: next()?.bytes()?,
            life: u64::try_from(next()?.int()?).ok().map(Duration::from_millis),
            running: next()?.int()?.max(0) as u64,
        });
    }
    Ok(records)
}
