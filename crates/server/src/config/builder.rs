//! Making a [`Config`] in code.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cogworker_core::redis_config::{RedisConfig, RedisConfigError};

use super::rule::{self, Mismatch};
use super::{Config, FetchMode, Key, LogFormat, queue};

/// A configuration that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A setting is outside its bounds.
    #[error("{key}: {source}")]
    Invalid {
        /// Which setting.
        key: Key,
        /// What it accepts, and what it was given.
        r#source: Mismatch,
    },
    /// The Redis settings do not fit together.
    #[error(transparent)]
    Redis(#[from] RedisConfigError),
}

/// Sets up a [`Config`]; everything is checked at [`build`](Self::build).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct ConfigBuilder {
    pub(super) config: Config,
    /// `None` until a queue is named: the first one replaces the default.
    queues: Option<Vec<(String, u32)>>,
}

impl Default for ConfigBuilder {
    fn default() -> Self {
        let config = Config {
            concurrency: 10,
            queues: vec!["default".into()],
            fetch: FetchMode::Reliable,
            fetch_idle_max_interval: Duration::from_secs(1),
            // Far above the 60 s after which a heartbeat lapses: a process that only lost Redis for a
            // while must not have its running jobs started a second time.
            orphan_threshold: Duration::from_secs(300),
            max_orphanings: 3,
            unique_lock_ttl: Duration::from_secs(86_400),
            periodic_catch_up: true,
            // Inside the 30 s that most process managers wait before they kill.
            shutdown_timeout: Duration::from_secs(25),
            environment: "development".into(),
            logfile: None,
            log_format: LogFormat::Text,
            health_bind: None,
            redis: RedisConfig::default(),
            timings: super::Timings::default(),
        };
        Self { config, queues: None }
    }
}

impl ConfigBuilder {
    /// How many jobs run at the same time; from 1 to 65,536, 10 by default.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.config.concurrency = jobs;
        self
    }

    /// The queues to work on, in place of all named before; repeats are weights. Without any, `default`.
    pub fn queues(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.queues = Some(names.into_iter().map(|name| (name.into(), 1)).collect());
        self
    }

    /// Adds a queue with a weight from 1 to 1,000.
    pub fn queue(mut self, name: impl Into<String>, weight: u32) -> Self {
        self.queues.get_or_insert_default().push((name.into(), weight));
        self
    }

    /// How jobs are taken off their queues; reliably by default.
    pub fn fetch(mut self, mode: FetchMode) -> Self {
        self.config.fetch = mode;
        self
    }

    /// The longest pause between two looks at queues that no connection waits on: paused ones, and those beyond the 32nd;
    /// from 1 ms to an hour, 1 s by default.
    pub fn fetch_idle_max_interval(mut self, interval: Duration) -> Self {
        self.config.fetch_idle_max_interval = interval;
        self
    }

    /// How long a process must have been silent before others take over its jobs; from 1 ms to 30 days, 5 minutes by
    /// default. In effect at least the 60 s after which its presence lapses. The same in all processes.
    pub fn orphan_threshold(mut self, threshold: Duration) -> Self {
        self.config.orphan_threshold = threshold;
        self
    }

    /// How often a job may be taken over before it is dead; from 1 to 1,000,000, 3 by default.
    pub fn max_orphanings(mut self, times: u32) -> Self {
        self.config.max_orphanings = times;
        self
    }

    /// How long a unique lock lasts from when its job is due, should nothing release it before; from 1 s to ten years, a
    /// day by default.
    pub fn unique_lock_ttl(mut self, ttl: Duration) -> Self {
        self.config.unique_lock_ttl = ttl;
        self
    }

    /// Whether a periodic job that was missed while no worker ran is run once at the next start; it is by default.
    pub fn periodic_catch_up(mut self, catch_up: bool) -> Self {
        self.config.periodic_catch_up = catch_up;
        self
    }

    /// How long running jobs may go on after a stop was asked for; at most a day, 25 s by default.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.config.shutdown_timeout = timeout;
        self
    }

    /// The name of the environment; `development` by default.
    pub fn environment(mut self, name: impl Into<String>) -> Self {
        self.config.environment = name.into();
        self
    }

    /// The log file; without one, standard output.
    pub fn logfile(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.logfile = Some(path.into());
        self
    }

    /// How the log is written; as text by default.
    pub fn log_format(mut self, format: LogFormat) -> Self {
        self.config.log_format = format;
        self
    }

    /// Where health checks are answered; without it, nowhere. Port 0 is any free port.
    pub fn health_bind(mut self, address: SocketAddr) -> Self {
        self.config.health_bind = Some(address);
        self
    }

    /// Where Redis is; `redis://127.0.0.1:6379/0` by default.
    pub fn redis(mut self, redis: RedisConfig) -> Self {
        self.config.redis = redis;
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// For the first setting that is outside its bounds, naming it, what it accepts and what it was given.
    pub fn build(self) -> Result<Config, ConfigError> {
        let Self { mut config, queues } = self;
        let at = |key: Key| move |source| ConfigError::Invalid { key, source };
        if let Some(queues) = queues {
            for (_, weight) in &queues {
                queue::check_weight(*weight).map_err(at(Key::Queues))?;
            }
            config.queues = queues
                .into_iter()
                .flat_map(|(name, weight)| super::WeightedQueue { name, weight }.repeated())
                .collect();
        }
        queue::check_all(&config.queues).map_err(at(Key::Queues))?;
        for (key, number) in [
            (Key::Concurrency, u64::try_from(config.concurrency).unwrap_or(u64::MAX)),
            (Key::MaxOrphanings, config.max_orphanings.into()),
        ] {
            key.rule().check_whole(number).map_err(at(key))?;
        }
        for (key, duration) in [
            (Key::FetchIdleMaxInterval, config.fetch_idle_max_interval),
            (Key::OrphanThreshold, config.orphan_threshold),
            (Key::UniqueLockTtl, config.unique_lock_ttl),
            (Key::ShutdownTimeout, config.shutdown_timeout),
        ] {
            key.rule().check_duration(duration).map_err(at(key))?;
        }
        rule::check_environment(&config.environment).map_err(at(Key::Environment))?;
        config.redis.validate()?;
        Ok(config)
    }
}
