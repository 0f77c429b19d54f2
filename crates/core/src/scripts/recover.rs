//! Recovering what dead processes held.

use std::time::Duration;

use bytes::Bytes;

use super::{KeyPositions, Step};
use crate::formats::{PRESENCE_TTL, THROUGHPUT_TTL, epoch_hour};
use crate::keys::Key;
use crate::locks::JobLocks;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static RECOVER_JOBS: Script = Script::new("recover_jobs", include_str!("../../lua/recover_jobs.lua"));
static COMPLETE_BURIALS: Script =
    Script::new("complete_burials", include_str!("../../lua/complete_burials.lua"));
static PRUNE_PROCESSES: Script =
    Script::new("prune_processes", include_str!("../../lua/prune_processes.lua"));

/// How long a job's orphan counter is kept after its last recovery.
const ORPHAN_COUNTER_TTL: Duration = Duration::from_secs(7 * 24 * 3600);

/// A job to recover, and what it needs for that.
#[derive(Debug)]
pub struct Orphan {
    /// Its raw bytes.
    pub job: Bytes,
    /// The queue it goes back to.
    pub queue: String,
    /// The key that counts its recoveries; a job without a jid is not counted.
    pub counter: Option<Key>,
    /// Its locks.
    pub locks: JobLocks,
    /// The entry for dead, should it have been recovered too often.
    pub burial: Vec<u8>,
}

/// What became of one orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanStep {
    /// Back on its queue.
    Requeued,
    /// In dead: it was recovered too often (MAXO-01).
    Buried,
    /// Recovered too often and dead did not take it: parked on `cogworker:repeat_orphans`.
    Parked,
    /// Someone else recovered it.
    Gone,
    /// Its destination refused it; it is still on the list (ORPH-10).
    Blocked,
}

/// What one recovery of a list came to.
#[derive(Debug)]
pub enum Recovered {
    /// The process lives, or may live: nothing was done (ORPH-03, ORPH-06).
    Alive,
    /// The process is dead.
    Dead {
        /// One for each orphan, in order.
        steps: Vec<OrphanStep>,
        /// How many jobs are left on the list.
        left: u64,
        /// Queues that got jobs and that no live process reads (ORPH-12).
        unread: Vec<String>,
        /// Why the first blocked orphan is blocked.
        error: Option<RedisError>,
    },
}

/// The limits of a recovery.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryLimits {
    /// How long a process must have been silent (ORPH-06, ORPH-07).
    pub orphan_threshold: Duration,
    /// How often a job may be recovered before it is dead (MAXO-01).
    pub max_orphanings: u32,
    /// How long the running lock of an `until_executed` run holds while it is queued, s.
    pub lock_ttl: u64,
}

/// Recovers `orphans`, newest first and at most [`BATCH_LIMIT`](super::BATCH_LIMIT), from the list
/// of `identity`, if that process is dead. With an empty list it is signed off (ORPH-05).
pub async fn recover_jobs(
    redis: &Redis,
    identity: &str,
    limits: RecoveryLimits,
    orphans: Vec<Orphan>,
) -> Result<Recovered, RedisError> {
    let keys = redis.keys();
    let now = EpochSeconds::now();
    let mut call = Call::new()
        .key(keys.inprogress(identity))
        .key(keys.process(identity))
        .key(keys.last_beat())
        .key(keys.inprogress_identities())
        .key(keys.queues())
        .key(keys.live_queues())
        .key(keys.dead())
        .key(keys.repeat_orphans())
        .key(keys.stats_failed())
        .key(keys.throughput(epoch_hour(now)))
        .arg(identity)
        .arg(limits.orphan_threshold.as_secs_f64())
        .arg(limits.max_orphanings)
        .arg(ORPHAN_COUNTER_TTL.as_secs())
        .arg(THROUGHPUT_TTL.as_secs())
        .arg(PRESENCE_TTL.as_secs())
        .arg(now.as_f64() as u64);
    let mut positions = KeyPositions::default();
    for orphan in orphans {
        call.push(orphan.job);
        positions.push(Some(keys.queue(&orphan.queue)), &mut call);
        call.push(orphan.queue);
        positions.push(orphan.counter, &mut call);
        call.push(orphan.locks.jid);
        positions.push(orphan.locks.unique, &mut call);
        positions.push(orphan.locks.running, &mut call);
        call.push(if orphan.locks.until_executed { limits.lock_ttl } else { 0 });
        call.push(orphan.burial);
    }
    let mut replies = redis.call(&RECOVER_JOBS, call).await?;
    if replies.take()?.int()? == 1 {
        return Ok(Recovered::Alive);
    }
    let codes = replies.take()?.bytes()?;
    let steps = codes.iter().map(|code| match code {
        b'1' => Ok(OrphanStep::Requeued),
        b'd' => Ok(OrphanStep::Buried),
        b'p' => Ok(OrphanStep::Parked),
        b'0' => Ok(OrphanStep::Gone),
        b'e' => Ok(OrphanStep::Blocked),
        other => Err(RedisError::UnexpectedReply {
            expected: "the codes 1, d, p, 0 and e",
            found: char::from(*other).to_string(),
        }),
    });
    let steps = steps.collect::<Result<_, _>>()?;
    let left = replies.take()?.int()?.max(0) as u64;
    let unread = replies.take()?.texts()?;
    let error = replies.take_error().await?;
    Ok(Recovered::Dead { steps, left, unread, error })
}

/// A job that stands in dead as it was, without an error.
#[derive(Debug)]
pub struct RawBurial {
    /// What stands there.
    pub job: Bytes,
    /// The completed entry.
    pub entry: Vec<u8>,
    /// Its orphan counter, which goes. Without one it was not put there by a recovery.
    pub counter: Key,
    /// Its locks, which are released.
    pub locks: JobLocks,
}

/// Swaps raw burials for their completed entries, each counted as a failure (MAXO-05, MAXO-10).
/// One step for each.
pub async fn complete_burials(redis: &Redis, burials: Vec<RawBurial>) -> Result<Vec<Step>, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(keys.dead())
        .key(keys.stats_failed())
        .key(keys.throughput(epoch_hour(EpochSeconds::now())))
        .arg(THROUGHPUT_TTL.as_secs());
    let mut positions = KeyPositions::default();
    for burial in burials {
        call.push(burial.job);
        call.push(burial.entry);
        positions.push(Some(burial.counter), &mut call);
        call.push(burial.locks.jid);
        positions.push(burial.locks.unique, &mut call);
        positions.push(burial.locks.running, &mut call);
    }
    Step::read_all(redis.call(&COMPLETE_BURIALS, call).await?.take()?)
}

/// Takes those of `identities` (at most [`BATCH_LIMIT`](super::BATCH_LIMIT)) off the registry of
/// processes whose presence has lapsed. How many there were.
pub async fn prune_processes(redis: &Redis, identities: &[String]) -> Result<u64, RedisError> {
    let mut call = Call::new().key(redis.keys().processes());
    for identity in identities {
        call.push_key(redis.keys().process(identity));
        call.push(identity);
    }
    Ok(redis.call(&PRUNE_PROCESSES, call).await?.take()?.int()?.max(0) as u64)
}
