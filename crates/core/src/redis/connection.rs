//! The shared connection: commands and scripts.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use fred::clients::Client;
use fred::interfaces::{ClientLike, EventInterface};
use fred::types::{ClusterHash, CustomCommand, Value};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use super::connecting::{self, Attempts};
use super::reply::{Replies, Reply};
use super::script::{Call, Script};
use super::{RedisError, hardened};
use crate::keys::KeySpace;
use crate::redis_config::RedisConfig;

/// How long replacing a connection may hold up the caller whose call failed.
const RESET_LIMIT: Duration = Duration::from_millis(500);

/// One connection to Redis, shared by cloning: concurrent calls travel in one pipeline, which
/// is faster than several connections. It reconnects by itself for as long as it lives.
///
/// No call is ever sent twice by itself: a lost reply is an error whose
/// [`fate_is_unknown`](RedisError::fate_is_unknown).
#[derive(Clone)]
pub struct Redis {
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` when there is no server.
    client: Option<Client>,
    /// Drives the connection; `None` when there is no server.
    runtime: Option<Handle>,
    config: RedisConfig,
    keys: KeySpace,
    calls: AtomicI64,
    resetting: AtomicBool,
    /// How often the connection was replaced.
    replaced: AtomicU64,
    attempts: watch::Sender<Attempts>,
}

/// Says that a reset is over, also when whoever waited for it is dropped.
struct Resetting<'a>(&'a AtomicBool);

impl Drop for Resetting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl Redis {
    /// Connects and waits until the connection stands, at most the settings' connect timeout.
    ///
    /// # Errors
    ///
    /// When the settings are wrong (a certificate that cannot be read), or no connection stands in time.
    pub async fn connect(config: &RedisConfig) -> Result<Self, RedisError> {
        let client = hardened::client(config)?;
        let redis = Self::new(Some(client.clone()), config);
        let mut errors = client.error_rx();
        connecting::watch(&client, config, redis.shared.attempts.clone());
        client.connect();
        let connected = client.wait_for_connect();
        tokio::pin!(connected);
        let deadline = tokio::time::sleep(config.connect_timeout);
        tokio::pin!(deadline);
        let mut last = None;
        loop {
            tokio::select! {
                biased;
                result = &mut connected => match result {
                    Ok(()) => return Ok(redis),
                    Err(error) => last = Some(connecting::failure(&error, config, false)),
                },
                Ok((error, _)) = errors.recv() => {
                    last = Some(connecting::failure(&error, config, false));
                }
                () = &mut deadline => {
                    last.get_or_insert_with(|| connecting::too_slow(config));
                }
            }
            if let Some(error) = last {
                redis.close().await;
                return Err(error);
            }
        }
    }

    /// Starts connecting and returns at once. Calls wait for the connection, each at most the
    /// settings' command timeout. Needs a tokio runtime, which drives the connection.
    ///
    /// # Errors
    ///
    /// When the settings are wrong.
    pub fn connect_lazily(config: &RedisConfig) -> Result<Self, RedisError> {
        let client = hardened::client(config)?;
        let redis = Self::new(Some(client.clone()), config);
        connecting::watch(&client, config, redis.shared.attempts.clone());
        client.connect();
        Ok(redis)
    }

    /// No server at all: every call fails with [`RedisError::Absent`]. For clients that keep their jobs
    /// in memory, in tests.
    #[doc(hidden)]
    pub fn absent() -> Self {
        Self::new(None, &RedisConfig::default())
    }

    fn new(client: Option<Client>, config: &RedisConfig) -> Self {
        Self {
            shared: Arc::new(Shared {
                runtime: client.as_ref().and_then(|_| Handle::try_current().ok()),
                client,
                keys: KeySpace::with_prefix(config.key_prefix.as_deref().unwrap_or("")),
                config: config.clone(),
                calls: AtomicI64::new(1),
                resetting: AtomicBool::new(false),
                replaced: AtomicU64::new(0),
                attempts: watch::Sender::default(),
            }),
        }
    }

    fn client(&self) -> Result<&Client, RedisError> {
        self.shared.client.as_ref().ok_or(RedisError::Absent)
    }

    /// Waits until a connection has stood, and tells each failure to make one.
    #[doc(hidden)]
    pub async fn connected(&self, mut tell: impl FnMut(&RedisError)) {
        if self.shared.client.is_none() {
            return;
        }
        let mut attempts = self.shared.attempts.subscribe();
        // The attempt itself ends first, if it ends.
        let limit = self.shared.config.connect_timeout + Duration::from_millis(500);
        attempts.mark_changed();
        loop {
            match timeout(limit, attempts.changed()).await {
                Ok(Ok(())) => {
                    let attempts = attempts.borrow_and_update();
                    if attempts.ever_connected {
                        return;
                    }
                    attempts.failure.iter().for_each(&mut tell);
                }
                // Nothing is heard of the connection any more: a call will tell.
                Ok(Err(_)) => return,
                Err(_) if self.is_connected() => return,
                Err(_) => tell(&connecting::too_slow(&self.shared.config)),
            }
        }
    }

    /// The spelling of this installation's keys.
    pub fn keys(&self) -> &KeySpace {
        &self.shared.keys
    }

    /// The settings it was made with.
    pub fn config(&self) -> &RedisConfig {
        &self.shared.config
    }

    /// Starts a task on the runtime that drives the connection: whoever else's runtime may rest or end
    /// while the task is under way. Where that runtime has ended, the task is dropped at once.
    #[doc(hidden)]
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.shared.runtime {
            runtime.spawn(task);
        }
    }

    /// True while the connection stands, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.shared.client.as_ref().is_some_and(Client::is_connected)
    }

    /// Runs a script by its hash and checks that the reply is this call's own: `ARGV[1]` is the
    /// call's number, which each script returns as its first element.
    #[doc(hidden)]
    pub async fn call(&self, script: &'static Script, call: Call) -> Result<Replies, RedisError> {
        let client = self.client()?;
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let mut args = Vec::with_capacity(3 + call.keys.len() + call.args.len());
        args.push(Value::from(script.hash()));
        args.push(Value::from(call.keys.len() as i64));
        args.extend(call.keys);
        args.push(Value::from(number));
        args.extend(call.args);

        let sent_on = self.generation();
        let mut result = send(client, "EVALSHA", args.clone()).await;
        if result.as_ref().is_err_and(RedisError::is_noscript) {
            // The server restarted, failed over or was told to forget: it learns it again.
            args[0] = Value::from(script.source());
            result = send(client, "EVAL", args).await;
        }
        let value = match result {
            Ok(value) => value,
            Err(error) => return Err(self.failed(RedisError::from_fred(&error), sent_on).await),
        };
        match value {
            Value::Array(values) if values.first() == Some(&Value::Integer(number)) => {
                let mut values = values.into_iter();
                values.next();
                Ok(Replies { values, redis: self.clone(), sent_on })
            }
            other => {
                let found = match &other {
                    Value::Array(values) => format!("{:?}", values.first()),
                    other => format!("{:?}", other.kind()),
                };
                let message = format!("{} is call {number}, the reply starts with {found}", script.name());
                Err(self.failed(RedisError::Desynchronised(message), sent_on).await)
            }
        }
    }

    /// Runs one command: for what a job or a page keeps in Redis besides. Keys go before the other arguments; in a cluster
    /// the first of all decides which node is asked.
    ///
    /// ```no_run
    /// use cogworker_core::redis::{Call, Redis, RedisError};
    ///
    /// # async fn example(redis: &Redis) -> Result<(), RedisError> {
    /// let visits = redis.command("INCRBY", Call::new().key("visits").arg(2)).await?.int()?;
    /// let name = redis.command("GET", Call::new().key("name")).await?.optional_text()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Hazard
    ///
    /// Never read an array of strings that somebody else chose (`LRANGE`, `ZRANGE`, `SMEMBERS`, `MGET`, `HGETALL`). The
    /// connection takes an array that begins with `message`, `subscribe` or the like for news from a pub/sub channel: it is
    /// dropped, and this call and those after it, Cogworker's own too, each get the reply to the next one, until one times
    /// out and the connection is replaced. Arrays of two elements, and those that begin with a number, are safe. Anything
    /// else is safe inside another array, as a script returns it:
    ///
    /// ```no_run
    /// use cogworker_core::redis::{Call, Redis, RedisError};
    ///
    /// # async fn example(redis: &Redis) -> Result<(), RedisError> {
    /// let script = "return { redis.call('LRANGE', KEYS[1], 0, -1) }";
    /// let call = Call::new().arg(script).arg(1).arg("audit-log");
    /// let lines = redis.command("EVAL", call).await?.array()?.remove(0).texts()?;
    /// # Ok(()) }
    /// ```
    ///
    /// In a cluster that script would be the first argument and lead to any node: there, read such arrays over a
    /// connection of another client.
    ///
    /// # Errors
    ///
    /// When Redis refuses the command or cannot be asked; [`RedisError::fate_is_unknown`] says whether it may have been carried
    /// out all the same.
    pub async fn command(&self, name: &'static str, call: Call) -> Result<Reply, RedisError> {
        self.run(CustomCommand::new_static(name, ClusterHash::FirstKey, false), call).await
    }

    /// Like [`command`](Self::command), for a command without a key: in a cluster it goes to the
    /// node that has `key`.
    pub(super) async fn command_near(
        &self,
        name: &'static str,
        key: &str,
        call: Call,
    ) -> Result<Reply, RedisError> {
        self.run(CustomCommand::new_static(name, ClusterHash::from(key.as_bytes()), false), call).await
    }

    async fn run(&self, command: CustomCommand, call: Call) -> Result<Reply, RedisError> {
        let args: Vec<Value> = call.keys.into_iter().chain(call.args).collect();
        let sent_on = self.generation();
        match self.client()?.custom(command, args).await {
            Ok(value) => Ok(Reply(value)),
            Err(error) => Err(self.failed(RedisError::from_fred(&error), sent_on).await),
        }
    }

    fn generation(&self) -> u64 {
        self.shared.replaced.load(Ordering::Acquire)
    }

    /// What a call failed with that was sent on the connection of the generation `sent_on`, or an
    /// error inside its reply.
    pub(super) async fn failed(&self, error: RedisError, sent_on: u64) -> RedisError {
        if matches!(error, RedisError::TimedOut(_)) && !self.is_connected() {
            let reason = self.shared.attempts.borrow().failure.as_ref().map(RedisError::reason);
            let silent = || format!("no connection to {} so far", self.shared.config);
            return RedisError::Disconnected(reason.unwrap_or_else(silent));
        }
        // Many calls fail at once with a connection: only the first replaces it.
        if error.condemns_connection() && self.generation() == sent_on {
            self.reset().await;
        }
        error
    }

    /// Replaces the connection, unless that is under way already; calls on it end with an error.
    #[doc(hidden)]
    pub async fn reset(&self) {
        let Ok(client) = self.client() else { return };
        if !client.is_connected() || self.shared.resetting.swap(true, Ordering::AcqRel) {
            return;
        }
        let _resetting = Resetting(&self.shared.resetting);
        self.shared.replaced.fetch_add(1, Ordering::AcqRel);
        // Too slow is fine: the reconnect goes on in the background.
        let _ = timeout(RESET_LIMIT, client.force_reconnection()).await;
    }

    /// Closes the connection; every clone's calls fail from now on.
    pub async fn close(&self) {
        if let Ok(client) = self.client() {
            let _ = timeout(RESET_LIMIT, client.quit()).await;
        }
    }
}

fn send(
    client: &Client,
    name: &'static str,
    args: Vec<Value>,
) -> impl Future<Output = Result<Value, fred::error::Error>> {
    // The library's own EVALSHA waits for each reply before it writes the next call.
    // In a cluster the first key decides the node. Of a custom command the library heeds only a
    // ready-made slot; by any other rule it would hash the first argument, the script's hash.
    let slot = args.get(2).and_then(Value::as_bytes).map_or(ClusterHash::Random, ClusterHash::from);
    client.custom(CustomCommand::new_static(name, slot, false), args)
}
