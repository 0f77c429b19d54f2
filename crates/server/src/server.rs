//! A worker: the engine and its services, from the first heartbeat to the last settlement.

mod error;
mod fetch_choice;
mod first_contact;
mod unread;
mod work;

pub use self::error::ServerError;

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::app::{App, Registry};
use crate::config::{Config, Source};
use crate::engine::Command;
use crate::health::{Health, HealthLimits};
use crate::identity::new_identity;
use crate::panic_guard;
use crate::services::watchdog::Watchdog;
use crate::supervised::Link;

/// A worker that can be embedded in a program of your own. See [`main`](crate::main) for the
/// usual way: an executable with the standard flags and signals.
///
/// Jobs run on the tokio runtime that [`run`](Self::run) is called on; fetching and settling have
/// a thread of their own.
pub struct Server {
    config: Config,
    /// What names the Redis server, where that is known.
    redis_named_by: Option<Source>,
    /// Answers health checks already.
    watched: Option<Watched>,
    /// The line to the supervisor that started this process.
    link: Option<Link>,
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
        link: Option<Link>,
    ) -> Self {
        let Health { identity, stop, .. } = &*watched.health;
        let mut server = Self::with(config, app, (identity.clone(), hostname), stop.clone());
        server.watched = Some(watched);
        server.link = link;
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
            redis_named_by: None,
            watched: None,
            link: None,
            registry: app.into_registry(),
            identity,
            hostname,
            commands: mpsc::unbounded_channel(),
            stop,
        }
    }

    /// What names the Redis server in the configuration.
    pub(crate) fn redis_named_by(mut self, source: Source) -> Self {
        self.redis_named_by = Some(source);
        self
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
    /// When the settings cannot be used, two handlers have the same class, the address for health checks cannot be had, or the engine cannot
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
        if let Some(link) = &self.link {
            link.tell_ready(health.clone());
        }
        let (ended, end) = oneshot::channel();
        let jobs = Handle::current();
        let engine = std::thread::Builder::new().name("cogworker-server".into());
        engine
            .spawn(move || {
                let _ = ended.send(self.run_engine(jobs, &health));
            })
            .map_err(ServerError::Engine)?;
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
            .build()
            .map_err(ServerError::Engine)?
            .block_on(self.work(jobs, health))
    }
}
