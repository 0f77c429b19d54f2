//! Pushing jobs that have more to write than themselves: a unique lock, a status.

use std::time::Duration;

use super::KeyPositions;
use crate::jid::Jid;
use crate::keys::Key;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::{EpochSeconds, ttl_seconds};

static PUSH_JOBS: Script = Script::new("push_jobs", include_str!("../../lua/push_jobs.lua"));

/// A job to push.
#[derive(Debug)]
pub struct Push {
    /// The job as stored.
    pub payload: Vec<u8>,
    /// Its id.
    pub jid: Jid,
    /// Its class.
    pub class: String,
    /// Its queue.
    pub queue: String,
    /// When it is due, if later.
    pub at: Option<EpochSeconds>,
    /// Its unique lock, and for how many seconds.
    pub lock: Option<(Key, u64)>,
}

/// What became of the jobs.
#[derive(Debug)]
pub struct Pushed {
    /// True for a job that was pushed, false for a duplicate; none for the one that was refused and those
    /// after it.
    pub pushed: Vec<bool>,
    /// Why a job was refused.
    pub error: Option<RedisError>,
}

/// Pushes jobs in order, each with its lock and, given a `status_ttl`, its status; the first that is
/// refused ends it. At most [`BATCH_LIMIT`](super::BATCH_LIMIT) a call (UNIQ-04, UNIQ-05, STAT-01).
///
/// # Errors
/// When the call fails as a whole.
pub async fn push_jobs(
    redis: &Redis,
    jobs: Vec<Push>,
    status_ttl: Option<Duration>,
) -> Result<Pushed, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(keys.queues())
        .key(keys.schedule())
        .arg(keys.wake_channel())
        .arg(EpochSeconds::now().to_string())
        .arg(status_ttl.map_or(0, ttl_seconds));
    let mut positions = KeyPositions::default();
    for job in jobs {
        positions.push(job.at.is_none().then(|| keys.queue(&job.queue)), &mut call);
        call.push(job.queue);
        match job.at {
            Some(at) => call.push(at.as_f64()),
            None => call.push(""),
        }
        call.push(job.payload);
        call.push(job.jid.as_str());
        let (lock, lock_ttl) = job.lock.unzip();
        positions.push(lock, &mut call);
        call.push(lock_ttl.unwrap_or(0));
        positions.push(status_ttl.map(|_| keys.status(job.jid.as_str())), &mut call);
        call.push(job.class);
    }
    let mut replies = redis.call(&PUSH_JOBS, call).await?;
    let codes = replies.take()?.bytes()?;
    let pushed = codes.iter().filter(|code| **code != b'e').map(|code| *code == b'1').collect();
    Ok(Pushed { pushed, error: replies.take_error().await? })
}
