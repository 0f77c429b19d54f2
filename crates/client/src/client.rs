//! The client's handle.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::time::EpochSeconds;

use crate::gatherer::Gatherer;
use crate::job_set::{JobSet, SetKind};
use crate::middleware::{Chain, Middleware};
use crate::periodic::PeriodicEntries;
use crate::queue::Queue;
use crate::sink::Sink;
use crate::unique_lock::DEFAULT_LOCK_TTL;

/// Pushes jobs and looks after them. Cheap to clone: clones share one connection, and what was set
/// before the cloning.
#[derive(Clone)]
pub struct Client {
    redis: Redis,
    /// False when the connection is someone else's.
    owns_connection: bool,
    settings: Arc<Settings>,
    gatherer: Arc<Gatherer>,
}

/// How a client pushes.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) chain: Chain,
    pub(crate) unique_lock_ttl: Duration,
    /// How long a status that a push writes is kept; without, none is written.
    pub(crate) status_ttl: Option<Duration>,
    /// Where jobs go instead of Redis, in tests.
    pub(crate) sink: Option<Arc<dyn Sink>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { chain: Chain::default(), unique_lock_ttl: DEFAULT_LOCK_TTL, status_ttl: None, sink: None }
    }
}

impl Settings {
    /// True when a push writes no more to Redis than what the job itself asks for.
    pub(crate) fn writes_jobs_alone(&self) -> bool {
        self.sink.is_none() && self.status_ttl.is_none()
    }

    pub(crate) fn now(&self) -> EpochSeconds {
        self.sink.as_ref().map_or_else(EpochSeconds::now, |sink| sink.now())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("redis", &self.redis)
            .field("owns_connection", &self.owns_connection)
            .field("middlewares", &self.settings.chain.len())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects and waits for the connection.
    ///
    /// # Errors
    /// When Redis cannot be reached within the connect timeout, or refuses the credentials.
    pub async fn connect(config: &RedisConfig) -> Result<Self, RedisError> {
        Ok(Self::new(Redis::connect(config).await?, true))
    }

    /// Returns at once and connects in the background: calls wait for the connection, each at
    /// most the command timeout. For a web app that should start while Redis is away.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub fn connect_lazily(config: &RedisConfig) -> Result<Self, RedisError> {
        Ok(Self::new(Redis::connect_lazily(config)?, true))
    }

    /// A client on a connection that is there already, and stays whoever closes the client.
    pub fn from_redis(redis: Redis) -> Self {
        Self::new(redis, false)
    }

    /// A client whose jobs go to `sink` and never to Redis.
    #[doc(hidden)]
    pub fn from_sink(sink: Arc<dyn Sink>) -> Self {
        let mut client = Self::new(Redis::absent(), false);
        client.settings_mut().sink = Some(sink);
        client
    }

    fn new(redis: Redis, owns_connection: bool) -> Self {
        Self { redis, owns_connection, settings: Arc::default(), gatherer: Arc::default() }
    }

    /// The client with one more [middleware](crate::middleware), inside those it has.
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware) -> Self {
        let settings = self.settings_mut();
        settings.chain = settings.chain.iter().cloned().chain([Arc::new(middleware) as _]).collect();
        self
    }

    pub(crate) fn gatherer(&self) -> &Arc<Gatherer> {
        &self.gatherer
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// The connection.
    pub fn redis(&self) -> &Redis {
        &self.redis
    }

    /// The queue `name`, whether it exists yet or not.
    pub fn queue(&self, name: &str) -> Queue {
        Queue::new(self.redis.clone(), name)
    }

    /// Jobs that are due later.
    pub fn schedule(&self) -> JobSet {
        self.job_set(SetKind::Schedule)
    }

    /// Failed jobs that will be tried again.
    pub fn retries(&self) -> JobSet {
        self.job_set(SetKind::Retry)
    }

    /// Jobs that failed for good.
    pub fn dead(&self) -> JobSet {
        self.job_set(SetKind::Dead)
    }

    /// The periodic entries that workers have published.
    pub fn periodic(&self) -> PeriodicEntries {
        PeriodicEntries::new(self.clone())
    }

    fn job_set(&self, kind: SetKind) -> JobSet {
        JobSet::new(self.redis.clone(), kind, self.settings.unique_lock_ttl)
    }

    /// Closes the connection of this client and all its clones. Does nothing for a client made
    /// by [`from_redis`](Self::from_redis), such as the one that a job's context gives.
    pub async fn close(&self) {
        if self.owns_connection {
            self.redis.close().await;
        }
    }
}
