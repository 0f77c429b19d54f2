//! Random jobs, pushed through the same broken network.

use std::time::{Duration, Instant};

use cogworker_client::{Client, ClientError};
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::Call;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::time::EpochSeconds;
use fastrand::Rng;

use super::Failed;
use super::site::Site;
use super::worker::{LONGEST_RUN, SoakBlockingJob, SoakJob, Way};

/// What is known of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pushed,
    /// Its reply was lost.
    Unknown,
    /// Redis refused it, or was never reached.
    Refused,
}

/// One job of the load.
#[derive(Debug, Clone)]
pub(crate) struct Pushed {
    pub(crate) jid: String,
    pub(crate) fate: Fate,
    /// How many attempts fail before one is well; the budget may end before.
    pub(crate) failures: u32,
    pub(crate) retries: u32,
    /// Whether it runs on a thread that may block, where nobody can abort it.
    pub(crate) blocking: bool,
}

/// Everything that was pushed.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) jobs: Vec<Pushed>,
    /// Entries that are no jobs: pushed for sure, and perhaps.
    pub(crate) junk: (u64, u64),
    /// Running locks whose job may not have been pushed: nobody releases them.
    pub(crate) stray_locks: Vec<String>,
}

pub(crate) fn run(site: &Site, seed: u64, rate: u32, until: Instant) -> Result<Load, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::connect_lazily(&RedisConfig::new(&site.proxy.url())?)?;
        let mut rng = Rng::with_seed(seed ^ 0x10ad);
        let mut load = Load::default();
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / rate.max(1));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for number in 0u64.. {
            if Instant::now() >= until {
                break;
            }
            ticks.tick().await;
            if rng.u8(..100) == 0 {
                junk(&client, number, &mut load).await;
            } else {
                push(&client, &mut rng, number, &mut load).await?;
            }
        }
        client.close().await;
        Ok(load)
    })
}

async fn junk(client: &Client, number: u64, load: &mut Load) {
    let queue = client.redis().keys().queue("default");
    let call = Call::new().key(queue).arg(format!("no job {number}"));
    match client.redis().command("LPUSH", call).await {
        Ok(_) => load.junk.0 += 1,
        Err(error) if error.fate_is_unknown() => load.junk.1 += 1,
        Err(_) => {}
    }
}

async fn push(client: &Client, rng: &mut Rng, number: u64, load: &mut Load) -> Result<(), Failed> {
    let jid = format!("{number:024x}");
    let (mut failures, mut retries, mut millis, mut way, mut blocking, mut delay) =
        (0, 25, 0, Way::Plain, false, None);
    let mut lock = None;
    match rng.u8(..100) {
        0..=4 => millis = rng.u64(10..LONGEST_RUN.as_millis() as u64),
        10..=12 => (millis, blocking) = (rng.u64(5..300), true),
        13..=20 => failures = rng.u32(1..3),
        21..=24 => (failures, retries) = (u32::MAX, rng.u32(1..3)),
        25..=27 => (failures, retries) = (u32::MAX, 0),
        28 => (failures, retries, way) = (u32::MAX, 0, Way::Panic),
        29 => (failures, way) = (1, Way::Panic),
        30..=37 => delay = Some(Duration::from_millis(rng.u64(0..5000))),
        38..=41 => lock = Some(("unique", rng.u64(0..400))),
        42..=44 => lock = Some(("periodic", rng.u64(0..400))),
        _ => {}
    }
    if let Some((_, long)) = lock {
        (millis, failures) = (long, rng.u32(0..2));
    }
    let job = SoakJob(number, way, failures, millis);
    let mut new = if blocking { NewJob::of(&SoakBlockingJob(job.clone())) } else { NewJob::of(&job) };
    new = new.jid(&jid).queue(if rng.u8(..4) == 0 { "low" } else { "default" });
    new = if retries == 0 { new.retry(false) } else { new.retry(retries) };
    if let Some(delay) = delay {
        new = new.at(EpochSeconds::now().plus(delay));
    }
    let mut running_lock = None;
    match lock {
        // The client takes the lock in the step that pushes, so that neither is there without the other.
        Some(("unique", _)) => new = new.set("unique", "until_executed"),
        Some(_) => {
            new = new.set("periodic_pjid", format!("p{number}")).set("periodic_slot", number);
            new = new.set("periodic_until_executed", true);
            let key = client.redis().keys().periodic_running(&format!("p{number}"));
            // As if its slot had been claimed.
            let call = Call::new().key(&key).arg(jid.as_str()).arg("EX").arg(3600u64).arg("NX");
            if client.redis().command("SET", call).await.is_err() {
                load.stray_locks.push(key.clone());
            }
            running_lock = Some(key);
        }
        None => {}
    }
    let fate = match client.push(new).await {
        Ok(Some(_)) => Fate::Pushed,
        Ok(None) => return Err(format!("push {jid}: taken for a duplicate, and there is none").into()),
        Err(ClientError::Redis(error)) if error.fate_is_unknown() => Fate::Unknown,
        Err(_) => Fate::Refused,
    };
    if let Some(key) = running_lock.filter(|_| fate != Fate::Pushed) {
        load.stray_locks.push(key);
    }
    load.jobs.push(Pushed { jid, fate, failures, retries, blocking });
    Ok(())
}
