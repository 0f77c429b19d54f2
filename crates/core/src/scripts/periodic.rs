//! Periodic entries: publishing them, firing their slots, holding the locks of their runs.

use bytes::Bytes;

use super::Held;
use crate::keys::Key;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static FIRE_SLOT: Script = Script::new("fire_slot", include_str!("../../lua/fire_slot.lua"));
static PUBLISH_SCHEDULE: Script =
    Script::new("publish_schedule", include_str!("../../lua/publish_schedule.lua"));
static HOLD_RUNNING_LOCKS: Script =
    Script::new("hold_running_locks", include_str!("../../lua/hold_running_locks.lua"));
static LIST_PERIODIC: Script = Script::new("list_periodic", include_str!("../../lua/list_periodic.lua"));

/// How long a slot's own lock is kept, s (TICK-27).
const SLOT_LOCK_TTL: u64 = 20;

/// A slot to fire.
#[derive(Debug)]
pub struct Slot<'a> {
    /// The entry's id.
    pub pjid: &'a str,
    /// When it is due, epoch s.
    pub at: i64,
    /// The jid of its job.
    pub jid: &'a str,
    /// The job; without one the slot passes.
    pub job: Option<Vec<u8>>,
    /// The queue that the job goes to.
    pub queue: &'a str,
    /// True when no second run may begin before the first has ended.
    pub until_executed: bool,
    /// The job's unique lock, if it has one.
    pub unique_lock: Option<Key>,
    /// How long the locks are held while the job is queued, s.
    pub lock_ttl: u64,
    /// The job's class.
    pub class: &'a str,
    /// How long its status is kept, s, if it has one (STAT-01).
    pub status_ttl: Option<u64>,
    /// True when it is used up if a run still holds the entry's running lock (TICK-26).
    pub last_look: bool,
    /// True when a slot fires that was due before the entry was ever known (TICK-21).
    pub catch_up: bool,
}

/// What became of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fired {
    /// Its job is on its queue.
    Fired,
    /// Another process had it, or a later one has been claimed.
    Lost,
    /// Without catch-up, the first slot of an entry only counts as seen (TICK-20).
    First,
    /// The entry's last run has not ended (TICK-25).
    Blocked,
    /// The same at the last look: the slot is used up (TICK-26).
    Skipped,
    /// The entry is switched off (TICK-16).
    Disabled,
    /// There was no job to push; the slot is used up.
    Passed,
    /// An equal job holds the unique lock; the slot is used up.
    Duplicate,
    /// The queue does not take the job; nothing was written.
    Refused,
}

/// Claims a slot and pushes its job in one step, so that neither can happen without the other
/// (TICK-01, TICK-02, TICK-28). Also why something about it could not be read or written.
pub async fn fire_slot(redis: &Redis, slot: Slot<'_>) -> Result<(Fired, Option<RedisError>), RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(keys.periodic_last_slot(slot.pjid))
        .key(keys.periodic_lock(slot.pjid, slot.at))
        .key(keys.periodic_running(slot.pjid))
        .key(keys.periodic_disabled())
        .key(keys.queue(slot.queue))
        .key(keys.queues())
        .key(keys.status(slot.jid))
        .arg(slot.pjid)
        .arg(slot.at)
        .arg(slot.jid)
        .arg(slot.job.unwrap_or_default())
        .arg(slot.queue)
        .arg(if slot.until_executed { "1" } else { "0" })
        .arg(slot.lock_ttl)
        .arg(SLOT_LOCK_TTL)
        .arg(if slot.catch_up { "1" } else { "0" })
        .arg(slot.status_ttl.unwrap_or(0))
        .arg(EpochSeconds::now().as_f64())
        .arg(slot.class)
        .arg(if slot.last_look { "1" } else { "0" });
    if let Some(lock) = slot.unique_lock {
        call.push_key(lock);
    }
    let mut replies = redis.call(&FIRE_SLOT, call).await?;
    let fired = match replies.take()?.text()?.as_str() {
        "fired" => Fired::Fired,
        "lost" => Fired::Lost,
        "first" => Fired::First,
        "blocked" => Fired::Blocked,
        "skipped" => Fired::Skipped,
        "passed" => Fired::Passed,
        "disabled" => Fired::Disabled,
        "duplicate" => Fired::Duplicate,
        "refused" => Fired::Refused,
        other => {
            let found = other.to_owned();
            return Err(RedisError::UnexpectedReply { expected: "what became of a slot", found });
        }
    };
    Ok((fired, replies.take_error().await?))
}

/// Publishes entries (id, JSON) for all to see; with `replace` those of others vanish (PENT-04,
/// PENT-06).
pub async fn publish_schedule(
    redis: &Redis,
    entries: &[(String, String)],
    replace: bool,
) -> Result<(), RedisError> {
    let mut call = Call::new().key(redis.keys().periodic_schedule()).arg(if replace { "1" } else { "0" });
    for (pjid, entry) in entries {
        call.push(pjid);
        call.push(entry);
    }
    redis.call(&PUBLISH_SCHEDULE, call).await.map(|_| ())
}

/// How a periodic entry stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryState {
    /// As it is published; empty when it is not.
    pub published: Bytes,
    /// True when it is switched off; one of which that cannot be told is on (TICK-15).
    pub disabled: bool,
    /// Its newest claimed slot, epoch s.
    pub last_slot: Option<i64>,
    /// The jid that holds its running lock.
    pub running: Option<String>,
}

/// How the entries `pjids` stand, one element for each; at most [`BATCH_LIMIT`](super::BATCH_LIMIT).
pub async fn list_periodic(redis: &Redis, pjids: &[String]) -> Result<Vec<EntryState>, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new().key(keys.periodic_schedule()).key(keys.periodic_disabled());
    for pjid in pjids {
        call.push_key(keys.periodic_last_slot(pjid));
        call.push_key(keys.periodic_running(pjid));
        call.push(pjid);
    }
    let mut states = Vec::with_capacity(pjids.len());
    for state in redis.call(&LIST_PERIODIC, call).await?.take()?.array()? {
        let mut state = state.array()?.into_iter();
        let mut next = || {
            let found = || "the end of the reply".to_owned();
            let short = || RedisError::UnexpectedReply { expected: "one more element", found: found() };
            state.next().ok_or_else(short)
        };
        let (published, disabled) = (next()?.bytes()?, next()?.int()? == 1);
        let (last_slot, running) = (next()?.text()?.parse().ok(), next()?.text()?);
        let running = (!running.is_empty()).then_some(running);
        states.push(EntryState { published, disabled, last_slot, running });
    }
    Ok(states)
}

/// A run that holds the running lock of its entry.
#[derive(Debug, Clone)]
pub struct RunningLock {
    /// The lock's key.
    pub key: Key,
    /// The run's jid.
    pub jid: String,
    /// The job's raw bytes.
    pub job: Bytes,
}

/// Keeps the locks of `runs` for `ttl` seconds more (RUNLK-08); with `retake`, those that lapsed
/// are taken again, where their job is still on the list of `identity` (RUNLK-10). How many are held.
pub async fn hold_running_locks(
    redis: &Redis,
    identity: &str,
    ttl: u64,
    retake: bool,
    held: Held,
    runs: &[RunningLock],
) -> Result<u64, RedisError> {
    let call =
        Call::new().key(redis.keys().inprogress(identity)).arg(ttl).arg(if retake { "1" } else { "0" });
    let mut call = call.arg(if held == Held::Listed { "1" } else { "0" });
    for run in runs {
        call.push_key(run.key.as_str());
        call.push(&run.jid);
        call.push(&run.job);
    }
    Ok(redis.call(&HOLD_RUNNING_LOCKS, call).await?.take()?.int()?.max(0) as u64)
}
