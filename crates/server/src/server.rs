//! A worker: the engine and its services, from the first heartbeat to the last settlement.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::redis::{Redis, RedisError, ServerVersion};
use cogworker_core::scripts::{self, RecoveryLimits};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::app::{App, Registry};
use crate::config::{Config, FetchMode};
use crate::deaths::Deaths;
use crate::engine::{Command, Engine, EngineParts, Gauges, Lease, last_calls};
use crate::health::{Health, HealthLimits};
use crate::identity::new_identity;
use crate::outage::Outage;
use crate::panic_guard;
use crate::periodic::PeriodicError;
use crate::run::RunScope;
use crate::services::control::Control;
use crate::services::heartbeat::Heartbeat;
use crate::services::key_guard::KeyGuard;
use crate::services::line::Line;
use crate::services::poller::Poller;
use crate::services::recovery::Recovery;
use crate::services::supervise;
use crate::services::ticker::Ticker;
use crate::services::uncounted::Uncounted;
use crate::services::watchdog::{Watchdog, WatchdogError, keep_turning};

/// How often dead processes are looked for; it counts into how long a running lock holds.
const RECOVERY_PERIOD: Duration = Duration::from_secs(60);

/// Why a worker could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Redis cannot be used as configured.
    #[error("start the worker: failed to {0}")]
    Redis(#[from] RedisError),
    /// The operating system refused a thread.
    #[error("start the worker's engine: {0}")]
    Engine(#[from] std::io::Error),
    /// Health checks cannot be answered at the configured address.
    #[error("start the worker: answer health checks at {address}: {source}")]
    Health {
        /// As configured.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A periodic entry cannot be used.
    #[error("start the worker: failed to {0}")]
    Periodic(#[from] PeriodicError),
    /// The engine ended by itself, which is a fault of ours.
    #[error("keep the worker's engine running: it ended by itself")]
    EngineEnded,
    /// Jobs could neither be settled nor given back before the end; another process recovers them.
    #[error("settle {held} jobs before the end: they stay on this process's list until they are recovered")]
    JobsLeft {
        /// How many; -1 when the list cannot be read.
        held: i64,
    },
}

impl From<WatchdogError> for ServerError {
    fn from(error: WatchdogError) -> Self {
        match error {
            WatchdogError::Bind(address, source) => Self::Health { address, source },
            WatchdogError::Thread(source) => Self::Engine(source),
        }
    }
}

/// A worker that can be embedded in a program of your own. See [`main`](crate::main) for the
/// usual way: an executable with the standard flags and signals.
///
/// Jobs run on the tokio runtime that [`run`](Self::run) is called on; fetching and settling have
/// a thread of their own.
pub struct Server {
    config: Config,
    /// Answers health checks already.
    watched: Option<Watched>,
    registry: Registry,
    identity: Arc<str>,
    hostname: String,
    commands: (UnboundedSender<Command>, UnboundedReceiver<Command>),
    stop: CancellationToken,
    limits: HealthLimits,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Tells a running [`Server`] what to do. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ServerHandle {
    commands: UnboundedSender<Command>,
    stop: CancellationToken,
}

impl ServerHandle {
    /// Takes no further jobs; running ones are finished (TSTP).
    pub fn quiet(&self) {
        let _ = self.commands.send(Command::Quiet);
    }

    /// Takes jobs again.
    pub fn resume(&self) {
        let _ = self.commands.send(Command::Resume);
    }

    /// Logs what is running now (TTIN).
    pub fn log_running(&self) {
        let _ = self.commands.send(Command::LogRunning);
    }

    /// Ends the worker: running jobs have the configured time to finish (TERM).
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// Health checks are answered, from before there is an application.
pub(crate) struct Watched {
    health: Arc<Health>,
    watchdog: Watchdog,
}

impl Watched {
    pub(crate) fn start(
        config: &Config,
        identity: Arc<str>,
        limits: HealthLimits,
        stop: CancellationToken,
    ) -> Result<Self, ServerError> {
        let health = Arc::new(Health::new(config, identity, limits, stop));
        let watchdog = Watchdog::start(health.clone(), config.health_bind)?;
        Ok(Self { health, watchdog })
    }
}

impl Server {
    /// A worker for `app`; nothing happens until [`run`](Self::run).
    pub fn new<S: Send + Sync + 'static>(config: Config, app: App<S>) -> Self {
        Self::with(config, app, new_identity(), CancellationToken::new())
    }

    /// The worker that `watched` tells about.
    pub(crate) fn watched<S: Send + Sync + 'static>(
        config: Config,
        app: App<S>,
        hostname: String,
        watched: Watched,
    ) -> Self {
        let Health { identity, stop, .. } = &*watched.health;
        let mut server = Self::with(config, app, (identity.clone(), hostname), stop.clone());
        server.watched = Some(watched);
        server
    }

    fn with<S: Send + Sync + 'static>(
        config: Config,
        app: App<S>,
        (identity, hostname): (Arc<str>, String),
        stop: CancellationToken,
    ) -> Self {
        Self {
            limits: HealthLimits::of(&config),
            config,
            watched: None,
            registry: app.into_registry(),
            identity,
            hostname,
            commands: mpsc::unbounded_channel(),
            stop,
        }
    }

    /// When the worker is taken for stuck: for tests, which cannot wait so long.
    #[doc(hidden)]
    #[must_use]
    pub fn health_limits(mut self, limits: HealthLimits) -> Self {
        self.limits = limits;
        self
    }

    /// `<hostname>:<pid>:<12 hex>`, as others see it in Redis.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Controls the worker from outside.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { commands: self.commands.0.clone(), stop: self.stop.clone() }
    }

    /// Works until `shutdown` completes, the [handle](Self::handle) stops it, or another process
    /// tells it to stop; then shuts down gracefully.
    ///
    /// Redis away at the start is waited for; `shutdown` is honoured meanwhile (LIFE-02).
    ///
    /// # Errors
    /// When the settings cannot be used, the address for health checks cannot be had, or the engine cannot
    /// be started or ends by itself.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> Result<(), ServerError> {
        panic_guard::install_hook();
        let stop = self.stop.clone();
        // Whoever drops this future wants the worker to end all the same.
        let _stops = stop.clone().drop_guard();
        let Watched { health, watchdog } = match self.watched.take() {
            Some(watched) => watched,
            None => Watched::start(&self.config, self.identity.clone(), self.limits, stop.clone())?,
        };
        health.built();
        let (ended, end) = oneshot::channel();
        let jobs = Handle::current();
        std::thread::Builder::new().name("cogworker-server".into()).spawn(move || {
            let _ = ended.send(self.run_engine(jobs, &health));
        })?;
        tokio::pin!(end);
        let result = tokio::select! {
            result = &mut end => result,
            () = shutdown => {
                stop.cancel();
                end.await
            }
        };
        watchdog.end().await;
        result.unwrap_or(Err(ServerError::EngineEnded))
    }

    /// On threads of its own. One worker, rather than a single-threaded runtime: jobs that are
    /// polled in place may call `block_in_place`, which hands the other tasks to a fresh thread.
    fn run_engine(self, jobs: Handle, health: &Health) -> Result<(), ServerError> {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cogworker-engine")
            .enable_all()
            .build()?
            .block_on(self.work(jobs, health))
    }

    async fn work(self, jobs: Handle, health: &Health) -> Result<(), ServerError> {
        let Self { config, mut registry, identity, hostname, commands, stop, limits, watched: _ } = self;
        let replace = registry.schedule.replace;
        let entries = std::mem::take(&mut registry.schedule).into_entries()?;
        let (pulse, gauges, outage) = (health.pulse.clone(), health.gauges.clone(), health.outage.clone());
        let redis = Redis::connect_lazily(&config.redis)?;
        tokio::spawn(keep_turning(pulse.clone(), redis.clone(), limits.turn));
        let poller_wake = Arc::new(Notify::new());
        let (command_sender, command_receiver) = commands;
        let mut distinct = config.queues.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let distinct: Arc<[String]> = distinct.into();
        if !decide_fetch(&redis, &config, &gauges, &outage, &stop).await {
            info!("stopped before redis was reached");
            redis.close().await;
            return Ok(());
        }
        let lease = Arc::new(Lease::new(config.orphan_threshold, config.timings.presence));
        let heartbeat = Heartbeat {
            redis: redis.clone(),
            identity: identity.clone(),
            info: Heartbeat::info(&config, hostname),
            distinct_queues: distinct.clone(),
            timings: config.timings,
            lease: lease.clone(),
            // Longer than it takes to find this process dead and its jobs orphaned (RUNLK-07).
            running_lock_ttl: (config.orphan_threshold + 2 * RECOVERY_PERIOD).as_secs_f64().ceil() as u64,
            gauges: gauges.clone(),
            pulse: pulse.clone(),
            stuck_call: limits.stuck_call,
            outage: outage.clone(),
            engine: command_sender.clone(),
        };
        // No job is taken before others can see that this process lives (LIFE-01).
        if !heartbeat.first(&stop).await {
            info!("stopped before redis was reached");
            redis.close().await;
            return Ok(());
        }
        // A connection for what is long and urgent to nobody: jobs' calls do not wait behind it.
        let upkeep = Redis::connect_lazily(&config.redis)?;
        let upkeep_line = Line::new(upkeep.clone(), limits.stuck_call);
        let line = Line::new(redis.clone(), limits.stuck_call);
        let uncounted: Arc<Uncounted> = Arc::default();
        // No job is taken before damaged keys are out of the way.
        let key_guard = KeyGuard::new(
            upkeep_line.clone(),
            identity.clone(),
            distinct,
            config.timings.check,
            outage.clone(),
        );
        let boot_check = key_guard.at_boot(&stop).await;
        if boot_check.moved {
            // The first beat could not be entered in a registry that held the wrong type.
            heartbeat.first(&stop).await;
        }
        let mut client = Client::from_redis(redis.clone()).with_unique_lock_ttl(config.unique_lock_ttl);
        if let Some(ttl) = registry.status_ttl {
            client = client.with_status(ttl);
        }
        let scope = Arc::new(RunScope { client, status_ttl: registry.status_ttl });
        let deaths = Deaths::new(&registry.hooks, jobs.clone());
        let recovery = Recovery {
            deaths: deaths.clone(),
            line: upkeep_line,
            uncounted: uncounted.clone(),
            identity: identity.clone(),
            limits: RecoveryLimits {
                orphan_threshold: config.orphan_threshold,
                max_orphanings: config.max_orphanings,
                lock_ttl: config.unique_lock_ttl.as_secs_f64().ceil() as u64,
            },
            period: config.timings.check,
            gauges: gauges.clone(),
            outage: outage.clone(),
        };
        let ticker = Ticker {
            line: line.clone(),
            entries: entries.into(),
            replace,
            catch_up: config.periodic_catch_up,
            lock_ttl: config.unique_lock_ttl.as_secs_f64().ceil() as u64,
            gauges: gauges.clone(),
            outage: outage.clone(),
        };
        let limit = config.shutdown_timeout;
        info!("{identity} is working on {} with {} slots", config.queues.join(", "), config.concurrency);
        let engine = Engine::new(EngineParts {
            redis: redis.clone(),
            deaths: deaths.clone(),
            identity: identity.clone(),
            config,
            registry,
            scope,
            jobs,
            gauges: gauges.clone(),
            outage: outage.clone(),
            lease,
            commands: command_receiver,
            poller_wake: poller_wake.clone(),
            pulse,
            limits,
        })?;

        let (services_stop, beats_stop) = (CancellationToken::new(), CancellationToken::new());
        let beats = heartbeat.spawn(beats_stop.clone())?;
        let mut services = JoinSet::new();
        supervise(&mut services, "recovery", services_stop.clone(), move |stop| recovery.clone().run(stop));
        supervise(&mut services, "ticker", services_stop.clone(), move |stop| ticker.clone().run(stop));
        let poller = Poller {
            line: line.clone(),
            gauges,
            outage: outage.clone(),
            wake: poller_wake.clone(),
            uncounted: uncounted.clone(),
            last_poll: health.last_poll.clone(),
        };
        supervise(&mut services, "poller", services_stop.clone(), move |stop| poller.clone().run(stop));
        let pause = boot_check.pause;
        supervise(&mut services, "key guard", services_stop.clone(), move |stop| {
            key_guard.clone().run(pause, stop)
        });
        let control = Control {
            redis: redis.clone(),
            identity: identity.clone(),
            engine: command_sender.clone(),
            outage: outage.clone(),
            poller_wake,
            stop_process: stop.clone(),
        };
        supervise(&mut services, "control", services_stop.clone(), move |stop| control.clone().run(stop));

        let engine = tokio::spawn(engine.run());
        tokio::pin!(engine);
        let ended = tokio::select! {
            ended = &mut engine => Some(ended),
            () = stop.cancelled() => None,
        };
        services_stop.cancel();
        let by_itself = ended.is_some();
        let ended = match ended {
            Some(ended) => ended,
            None => {
                info!("stopping: running jobs have {} s to finish", limit.as_secs_f64());
                let _ = command_sender.send(Command::Stop { limit });
                engine.await
            }
        };
        deaths.finish().await;
        // Beats go on until the last job is settled: until then this process holds jobs.
        beats_stop.cancel();
        let _ = tokio::task::spawn_blocking(move || beats.join()).await;
        while services.join_next().await.is_some() {}
        upkeep.close().await;
        let counted = timeout(last_calls(&outage), uncounted.catch_up(&line)).await;
        if let Ok(Err(failure)) = counted {
            outage.report("counting failures", &failure);
        }
        match uncounted.count() {
            0 => {}
            left => error!("{left} failures that were filed stay uncounted"),
        }
        let removed = timeout(last_calls(&outage), scripts::remove_presence(&redis, &identity)).await;
        let removed = removed.unwrap_or_else(|_| Err(RedisError::TimedOut("redis is away".into())));
        redis.close().await;
        match (ended, removed) {
            _ if by_itself => Err(ServerError::EngineEnded),
            (Err(_), _) => Err(ServerError::EngineEnded),
            (Ok(0), Ok(0)) => {
                info!("stopped");
                Ok(())
            }
            (Ok(unsettled), Ok(held)) => Err(ServerError::JobsLeft { held: held.max(unsettled as i64) }),
            (Ok(unsettled), Err(failure)) => {
                outage.report("removing the presence", &failure);
                if unsettled == 0 { Ok(()) } else { Err(ServerError::JobsLeft { held: unsettled as i64 }) }
            }
        }
    }
}

/// Chooses how jobs are taken: reliably, unless the settings or the server say otherwise (MODE-01
/// to MODE-05). False when told to stop before Redis could be asked.
async fn decide_fetch(
    redis: &Redis,
    config: &Config,
    gauges: &Gauges,
    outage: &Outage,
    stop: &CancellationToken,
) -> bool {
    const PLACE: &str = "asking for redis' version";
    if config.fetch == FetchMode::Basic {
        gauges.basic.store(true, Ordering::Relaxed);
        return true;
    }
    loop {
        let version = tokio::select! {
            biased;
            () = stop.cancelled() => return false,
            version = redis.server_version() => version,
        };
        match version {
            Ok(version) => {
                outage.recovered(PLACE);
                if let Some(version) = version.filter(|version| *version < ServerVersion::RELIABLE_FETCH) {
                    warn!(
                        "reliable fetch needs redis 6.2 and this is {version}: falling back to basic fetch, \
                         which loses what a crashed process was running"
                    );
                    gauges.basic.store(true, Ordering::Relaxed);
                }
                return true;
            }
            Err(failure) if !failure.is_outage() => {
                // A server that may not be asked is taken for a recent one.
                outage.report(PLACE, &failure);
                return true;
            }
            Err(failure) => outage.report(PLACE, &failure),
        }
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}
