//! Says every five seconds that this process lives.
//!
//! It has a thread and a connection of its own: whatever holds the engine up, others must not
//! take this process for dead and run its jobs a second time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cogworker_core::formats::ProcessInfo;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, Beat, BeatReply, Held};
use cogworker_core::time::EpochSeconds;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::config::{Config, Timings};
use crate::engine::{Command, Gauges, Lease, Pulse, within};
use crate::identity::rss_kb;
use crate::outage::{CONNECTING, Outage};
use crate::services::supervise;

/// A beat that failed is made again so soon: the connection may have been replaced by then.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What a heartbeat needs to know.
#[derive(Clone)]
pub(crate) struct Heartbeat {
    pub(crate) redis: Redis,
    pub(crate) identity: Arc<str>,
    pub(crate) info: ProcessInfo,
    pub(crate) distinct_queues: Arc<[String]>,
    pub(crate) timings: Timings,
    pub(crate) lease: Arc<Lease>,
    /// How long a running lock holds without another beat, s.
    pub(crate) running_lock_ttl: u64,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) pulse: Arc<Pulse>,
    /// A beat that takes longer is given up.
    pub(crate) stuck_call: Duration,
    pub(crate) outage: Arc<Outage>,
    pub(crate) engine: UnboundedSender<Command>,
}

impl Heartbeat {
    pub(crate) fn info(config: &Config, hostname: String) -> ProcessInfo {
        let mut info = ProcessInfo::default();
        info.hostname = hostname;
        info.pid = std::process::id();
        info.concurrency = config.concurrency;
        info.queues = config.queues.clone();
        info.started_at = EpochSeconds::now();
        info
    }

    /// Beats until the first beat succeeded; false when told to stop before that (BEAT-07, BEAT-08).
    pub(crate) async fn first(&self, stop: &CancellationToken) -> bool {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                beaten = self.beat() => match beaten {
                    Ok(()) => {
                        self.pulse.connected(true, self.pulse.now());
                        return true;
                    }
                    Err(failure) => self.outage.report("the first heartbeat", &failure),
                },
            }
            tokio::select! {
                () = stop.cancelled() => return false,
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
        }
    }

    /// Beats on a thread of its own until told to stop.
    pub(crate) fn spawn(self, stop: CancellationToken) -> std::io::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("cogworker-beat".into()).spawn(move || {
            runtime.block_on(async move {
                let mut services = JoinSet::new();
                supervise(&mut services, "heartbeat", stop, move |stop| self.clone().run(stop));
                while services.join_next().await.is_some() {}
            });
        })
    }

    async fn run(mut self, stop: CancellationToken) {
        self.redis = match Redis::connect_lazily(self.redis.config()) {
            Ok(redis) => redis,
            // The same settings worked for the first beat.
            Err(failure) => return self.outage.report("the heartbeat", &failure),
        };
        let mut pause = self.timings.beat;
        let mut failed_before = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
            let beaten = async {
                self.beat().await?;
                self.hold_locks(failed_before).await
            };
            let beaten = tokio::select! {
                () = stop.cancelled() => break,
                beaten = beaten => beaten,
            };
            failed_before = beaten.is_err();
            pause = match beaten {
                Ok(()) => self.timings.beat,
                Err(failure) => {
                    self.outage.report("the heartbeat", &failure);
                    if failure.is_outage() { AGAIN_AFTER.min(self.timings.beat) } else { self.timings.beat }
                }
            };
        }
        self.redis.close().await;
    }

    /// Keeps the running locks of periodic runs alive; after a failed beat, those that lapsed
    /// meanwhile are taken again (RUNLK-08 to RUNLK-10).
    async fn hold_locks(&self, failed_before: bool) -> Result<(), RedisError> {
        let runs = self.gauges.running_locks.all();
        let held = if self.gauges.basic.load(Ordering::Relaxed) { Held::Popped } else { Held::Listed };
        for runs in runs.chunks(scripts::BATCH_LIMIT) {
            let (redis, identity, ttl) = (&self.redis, &self.identity, self.running_lock_ttl);
            let call = scripts::hold_running_locks(redis, identity, ttl, failed_before, held, runs);
            within("the heartbeat", self.stuck_call, call, self.redis.reset()).await?;
        }
        Ok(())
    }

    async fn beat(&self) -> Result<(), RedisError> {
        let sent_at = Instant::now();
        let mut info = self.info.clone();
        info.rss_kb = rss_kb();
        let beat = Beat {
            identity: &self.identity,
            info: info.to_json(),
            busy: self.gauges.busy.load(Ordering::Relaxed),
            quiet: self.gauges.quiet.load(Ordering::Relaxed),
            ttl: self.timings.presence.as_secs(),
            reliable: !self.gauges.basic.load(Ordering::Relaxed),
            queues: &self.distinct_queues,
        };
        let call = scripts::beat(&self.redis, &beat);
        let BeatReply { errors, paused, processes } =
            within("the heartbeat", self.stuck_call, call, self.redis.reset()).await?;
        let on_record = errors.iter().all(|(registry, _)| registry != "last beats");
        self.lease.renew(sent_at, on_record);
        self.pulse.beaten(self.pulse.now());
        self.gauges.processes.store(processes as usize, Ordering::Relaxed);
        self.outage.recovered(CONNECTING);
        self.outage.recovered("the first heartbeat");
        self.outage.recovered("the heartbeat");
        for (registry, failure) in errors {
            error!("the heartbeat could not write the {registry}: failed to {failure}");
        }
        let _ = self.engine.send(Command::Paused(paused));
        Ok(())
    }
}
