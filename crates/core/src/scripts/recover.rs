//! Recovering what dead processes held.

use std::time::Duration;

use bytes::Bytes;

use super::{BATCH_BYTES, BATCH_LIMIT, FailureCount, KeyPositions, Step};
use crate::failure::Failure;
use crate::formats::{PRESENCE_TTL, THROUGHPUT_TTL, epoch_hour};
use crate::locks::JobTraces;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static RECOVER_JOBS: Script = Script::new(
    "recover_jobs",
    concat!(
        include_str!("../../lua/parts/release.lua"),
        include_str!("../../lua/parts/count_failed.lua"),
        include_str!("../../lua/parts/note_status.lua"),
        include_str!("../../lua/recover_jobs.lua"),
    ),
);
static COMPLETE_BURIALS: Script = Script::new(
    "complete_burials",
    concat!(
        include_str!("../../lua/parts/release.lua"),
        include_str!("../../lua/parts/count_failed.lua"),
        include_str!("../../lua/parts/note_status.lua"),
        include_str!("../../lua/complete_burials.lua"),
    ),
);
static FIND_RAW_BURIALS: Script =
    Script::new("find_raw_burials", include_str!("../../lua/find_raw_burials.lua"));
static FIND_DEAD_PROCESSES: Script =
    Script::new("find_dead_processes", include_str!("../../lua/find_dead_processes.lua"));
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
    /// The counter of its recoveries, and its locks.
    pub traces: JobTraces,
    /// The entry for dead. Without one, a job that was recovered too often is left where it is and
    /// told: most need none, and it is as large as the job.
    pub burial: Option<Bytes>,
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
    /// Recovered too often and without an entry for dead; it is still on the list.
    TooOften,
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
        /// How the burials were counted.
        count: FailureCount,
    },
}

/// The limits of a recovery.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryLimits {
    /// How long a process must have been silent (ORPH-06, ORPH-07); 0 when its end was seen.
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
    let death = Failure::process_died(limits.max_orphanings);
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
        .arg(now.as_f64() as u64)
        .arg(&*death.class)
        .arg(death.limited_message());
    let mut positions = KeyPositions::default();
    for orphan in orphans {
        call.push(orphan.job);
        positions.push(Some(keys.queue(&orphan.queue)), &mut call);
        call.push(orphan.queue);
        let JobTraces { orphan_counter, locks, status } = orphan.traces;
        positions.push(orphan_counter, &mut call);
        call.push(locks.jid);
        positions.push(locks.unique, &mut call);
        positions.push(locks.running, &mut call);
        call.push(if locks.until_executed { limits.lock_ttl } else { 0 });
        call.push(orphan.burial.unwrap_or_default());
        positions.push(status, &mut call);
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
        b'o' => Ok(OrphanStep::TooOften),
        b'0' => Ok(OrphanStep::Gone),
        b'e' => Ok(OrphanStep::Blocked),
        other => Err(RedisError::UnexpectedReply {
            expected: "the codes 1, d, p, o, 0 and e",
            found: char::from(*other).to_string(),
        }),
    });
    let steps = steps.collect::<Result<_, _>>()?;
    let left = replies.take()?.int()?.max(0) as u64;
    let unread = replies.take()?.texts()?;
    let error = replies.take_error().await?;
    let count = FailureCount::read(&mut replies).await?;
    Ok(Recovered::Dead { steps, left, unread, error, count })
}

/// A job that stands in dead as it was, without an error.
#[derive(Debug)]
pub struct RawBurial {
    /// What stands there.
    pub job: Bytes,
    /// The completed entry.
    pub entry: Bytes,
    /// Its orphan counter, which goes, and its locks, which are released. Without a counter it was
    /// not put there by a recovery.
    pub traces: JobTraces,
}

/// Entries in dead that may be raw burials.
#[derive(Debug)]
pub struct RawEntries {
    /// Those without an error.
    pub entries: Vec<Bytes>,
    /// How many entries were looked at.
    pub seen: usize,
    /// True when a limit left some behind.
    pub more: bool,
}

/// Looks for raw burials among the entries of dead after the `skip` newest and not older than
/// `oldest`; through at most [`BATCH_LIMIT`] entries and [`BATCH_BYTES`] of them.
pub async fn find_raw_burials(
    redis: &Redis,
    skip: usize,
    oldest: Option<EpochSeconds>,
) -> Result<RawEntries, RedisError> {
    let call = Call::new().key(redis.keys().dead()).arg(skip).arg(BATCH_LIMIT).arg(BATCH_BYTES);
    let call = match oldest {
        Some(score) => call.arg(score.as_f64()),
        None => call.arg("-inf"),
    };
    let mut replies = redis.call(&FIND_RAW_BURIALS, call).await?;
    Ok(RawEntries {
        entries: replies.take()?.byte_strings()?,
        seen: replies.take()?.int()?.max(0) as usize,
        more: replies.take()?.int()? == 1,
    })
}

/// Swaps raw burials for their completed entries, each counted as a failure (MAXO-05, MAXO-10).
/// One step for each; those without an orphan counter are left out beforehand.
pub async fn complete_burials(
    redis: &Redis,
    burials: Vec<RawBurial>,
) -> Result<(Vec<Step>, FailureCount), RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(keys.dead())
        .key(keys.stats_failed())
        .key(keys.throughput(epoch_hour(EpochSeconds::now())))
        .arg(THROUGHPUT_TTL.as_secs())
        .arg(EpochSeconds::now().as_f64());
    let mut positions = KeyPositions::default();
    for RawBurial { job, entry, traces } in burials {
        let JobTraces { orphan_counter, locks, status } = traces;
        call.push(job);
        call.push(entry);
        positions.push(orphan_counter, &mut call);
        call.push(locks.jid);
        positions.push(locks.unique, &mut call);
        positions.push(locks.running, &mut call);
        positions.push(status, &mut call);
    }
    let mut replies = redis.call(&COMPLETE_BURIALS, call).await?;
    let steps = Step::read_all(&replies.take()?.bytes()?)?;
    Ok((steps, FailureCount::read(&mut replies).await?))
}

/// Those of `identities` (at most [`BATCH_LIMIT`](super::BATCH_LIMIT)) whose process is dead, as
/// [`recover_jobs`] decides it.
pub async fn find_dead_processes(
    redis: &Redis,
    orphan_threshold: Duration,
    identities: &[String],
) -> Result<Vec<String>, RedisError> {
    let mut call = Call::new()
        .key(redis.keys().last_beat())
        .arg(orphan_threshold.as_secs_f64())
        .arg(EpochSeconds::now().as_f64() as u64);
    for identity in identities {
        call.push_key(redis.keys().process(identity));
        call.push(identity);
    }
    let dead = redis.call(&FIND_DEAD_PROCESSES, call).await?.take()?.array()?;
    dead.into_iter()
        .map(|position| {
            let index = usize::try_from(position.int()? - 1).ok();
            index.and_then(|index| identities.get(index)).cloned().ok_or_else(|| {
                RedisError::UnexpectedReply {
                    expected: "the position of an identity",
                    found: "another".into(),
                }
            })
        })
        .collect()
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
