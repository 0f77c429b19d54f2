//! Says every five seconds that this process lives.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cogworker_core::formats::{PRESENCE_TTL, ProcessInfo};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, Beat, BeatReply};
use cogworker_core::time::EpochSeconds;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::config::Config;
use crate::engine::{Command, Gauges};
use crate::identity::rss_kb;
use crate::outage::Outage;

/// A presence holds for 60 s, so a dozen beats may fail before it lapses (BEAT-01).
const PERIOD: Duration = Duration::from_secs(5);

/// What a heartbeat needs to know.
#[derive(Clone)]
pub(crate) struct Heartbeat {
    pub(crate) redis: Redis,
    pub(crate) identity: Arc<str>,
    pub(crate) info: ProcessInfo,
    pub(crate) distinct_queues: Arc<[String]>,
    pub(crate) reliable: bool,
    pub(crate) gauges: Arc<Gauges>,
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
                    Ok(()) => return true,
                    Err(failure) => self.outage.report("the first heartbeat", &failure),
                },
            }
            tokio::select! {
                () = stop.cancelled() => return false,
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
        }
    }

    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PERIOD) => {}
            }
            if let Err(failure) = self.beat().await {
                self.outage.report("the heartbeat", &failure);
            }
        }
    }

    async fn beat(&self) -> Result<(), RedisError> {
        let mut info = self.info.clone();
        info.rss_kb = rss_kb();
        let beat = Beat {
            identity: &self.identity,
            info: info.to_json(),
            busy: self.gauges.busy.load(Ordering::Relaxed),
            quiet: self.gauges.quiet.load(Ordering::Relaxed),
            ttl: PRESENCE_TTL.as_secs(),
            reliable: self.reliable,
            queues: &self.distinct_queues,
        };
        let BeatReply { errors, paused, processes } = scripts::beat(&self.redis, &beat).await?;
        self.gauges.processes.store(processes as usize, Ordering::Relaxed);
        self.outage.recovered("the first heartbeat");
        self.outage.recovered("the heartbeat");
        for (registry, failure) in errors {
            error!("the heartbeat could not write the {registry}: failed to {failure}");
        }
        let _ = self.engine.send(Command::Paused(paused));
        Ok(())
    }
}
