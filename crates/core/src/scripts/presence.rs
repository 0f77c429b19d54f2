//! A process's presence: its heartbeat and its leaving.

use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::EpochSeconds;

static BEAT: Script = Script::new("beat", include_str!("../../lua/beat.lua"));
static REMOVE_PRESENCE: Script =
    Script::new("remove_presence", include_str!("../../lua/remove_presence.lua"));

/// What a process says of itself.
#[derive(Debug, Clone)]
pub struct Beat<'a> {
    /// `<hostname>:<pid>:<12 hex>`.
    pub identity: &'a str,
    /// The process's info, as JSON.
    pub info: String,
    /// Jobs running now.
    pub busy: usize,
    /// True when it takes no new jobs.
    pub quiet: bool,
    /// How long the presence holds without another beat, s.
    pub ttl: u64,
    /// True when it keeps an in-progress list (reliable fetch).
    pub reliable: bool,
    /// The queues it reads, each once.
    pub queues: &'a [String],
}

/// What a heartbeat learns.
#[derive(Debug)]
pub struct BeatReply {
    /// Registries that could not be written, with the reason (BEAT-09).
    pub errors: Vec<(String, RedisError)>,
    /// The paused queues' names.
    pub paused: Vec<String>,
    /// How many processes are registered; crashed ones are until they are pruned.
    pub processes: u64,
}

/// Says once that the process lives (BEAT-01 to BEAT-05, BEAT-09).
pub async fn beat(redis: &Redis, beat: &Beat<'_>) -> Result<BeatReply, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(keys.process(beat.identity))
        .key(keys.processes())
        .key(keys.inprogress_identities())
        .key(keys.last_beat())
        .key(keys.queues())
        .key(keys.live_queues())
        .key(keys.workers(beat.identity))
        .key(keys.paused_queues())
        .arg(beat.identity)
        .arg(beat.info.as_str())
        .arg(beat.busy)
        .arg(if beat.quiet { "true" } else { "false" })
        .arg(beat.ttl)
        .arg(if beat.reliable { "1" } else { "0" })
        .arg(EpochSeconds::now().as_f64() as u64);
    for queue in beat.queues {
        call.push(queue);
    }
    let mut replies = redis.call(&BEAT, call).await?;
    let mut errors = Vec::new();
    let mut noted = replies.take()?.texts()?.into_iter();
    while let (Some(registry), Some(text)) = (noted.next(), noted.next()) {
        errors.push((registry, replies.error(&text).await));
    }
    let paused = replies.take()?.texts()?;
    let processes = replies.take()?.int()?.max(0) as u64;
    Ok(BeatReply { errors, paused, processes })
}

/// Signs a stopped process off (BEAT-10, BEAT-13). The number of jobs it still holds; its
/// registration stays while that is not zero, so that others find them.
pub async fn remove_presence(redis: &Redis, identity: &str) -> Result<i64, RedisError> {
    let keys = redis.keys();
    let call = Call::new()
        .key(keys.process(identity))
        .key(keys.processes())
        .key(keys.workers(identity))
        .key(keys.inprogress(identity))
        .key(keys.inprogress_identities())
        .key(keys.last_beat())
        .key(keys.settling(identity))
        .arg(identity);
    redis.call(&REMOVE_PRESENCE, call).await?.take()?.int()
}
