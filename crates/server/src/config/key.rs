//! The table of settings: name, variable, flag and rule of each.

use std::fmt;

use cogworker_core::redis_config;

use super::node::Node;
use super::rule::{Mismatch, Rule, found};

/// A setting of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Key {
    /// [`Config::concurrency`](super::Config::concurrency)
    Concurrency,
    /// [`Config::queues`](super::Config::queues)
    Queues,
    /// [`Config::fetch`](super::Config::fetch)
    Fetch,
    /// [`Config::fetch_idle_max_interval`](super::Config::fetch_idle_max_interval)
    FetchIdleMaxInterval,
    /// [`Config::orphan_threshold`](super::Config::orphan_threshold)
    OrphanThreshold,
    /// [`Config::max_orphanings`](super::Config::max_orphanings)
    MaxOrphanings,
    /// [`Config::unique_lock_ttl`](super::Config::unique_lock_ttl)
    UniqueLockTtl,
    /// [`Config::periodic_catch_up`](super::Config::periodic_catch_up)
    PeriodicCatchUp,
    /// [`Config::shutdown_timeout`](super::Config::shutdown_timeout)
    ShutdownTimeout,
    /// [`Config::environment`](super::Config::environment)
    Environment,
    /// [`Config::logfile`](super::Config::logfile)
    Logfile,
    /// [`Config::log_format`](super::Config::log_format)
    LogFormat,
    /// [`Config::health_bind`](super::Config::health_bind)
    HealthBind,
    /// [`Config::redis`](super::Config::redis), but for the three below
    Redis,
    /// What is put before every Redis key; the same in every process that shares jobs.
    RedisKeyPrefix,
    /// How long one attempt to connect may take.
    RedisConnectTimeout,
    /// How long one command may take before its outcome counts as unknown.
    RedisCommandTimeout,
}

const YEAR: f64 = 366.0 * 86_400.0;

impl Key {
    /// Every setting, in the order in which they are documented and printed.
    pub const ALL: &'static [Self] = &[
        Self::Concurrency,
        Self::Queues,
        Self::Fetch,
        Self::FetchIdleMaxInterval,
        Self::OrphanThreshold,
        Self::MaxOrphanings,
        Self::UniqueLockTtl,
        Self::PeriodicCatchUp,
        Self::ShutdownTimeout,
        Self::Environment,
        Self::Logfile,
        Self::LogFormat,
        Self::HealthBind,
        Self::Redis,
        Self::RedisKeyPrefix,
        Self::RedisConnectTimeout,
        Self::RedisCommandTimeout,
    ];

    /// The name in the file and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Concurrency => "concurrency",
            Self::Queues => "queues",
            Self::Fetch => "fetch",
            Self::FetchIdleMaxInterval => "fetch_idle_max_interval",
            Self::OrphanThreshold => "orphan_threshold",
            Self::MaxOrphanings => "max_orphanings",
            Self::UniqueLockTtl => "unique_lock_ttl",
            Self::PeriodicCatchUp => "periodic_catch_up",
            Self::ShutdownTimeout => "shutdown_timeout",
            Self::Environment => "environment",
            Self::Logfile => "logfile",
            Self::LogFormat => "log_format",
            Self::HealthBind => "health_bind",
            Self::Redis => "redis",
            Self::RedisKeyPrefix => "redis_key_prefix",
            Self::RedisConnectTimeout => "redis_connect_timeout",
            Self::RedisCommandTimeout => "redis_command_timeout",
        }
    }

    /// The variable that sets it; `None` for the environment, which has three of them.
    pub fn env_var(self) -> Option<&'static str> {
        Some(match self {
            Self::Concurrency => "COGWORKER_CONCURRENCY",
            Self::Queues => "COGWORKER_QUEUES",
            Self::Fetch => "COGWORKER_FETCH",
            Self::FetchIdleMaxInterval => "COGWORKER_FETCH_IDLE_MAX_INTERVAL",
            Self::OrphanThreshold => "COGWORKER_ORPHAN_THRESHOLD",
            Self::MaxOrphanings => "COGWORKER_MAX_ORPHANINGS",
            Self::UniqueLockTtl => "COGWORKER_UNIQUE_LOCK_TTL",
            Self::PeriodicCatchUp => "COGWORKER_PERIODIC_CATCH_UP",
            Self::ShutdownTimeout => "COGWORKER_SHUTDOWN_TIMEOUT",
            Self::Environment => return None,
            Self::Logfile => "COGWORKER_LOGFILE",
            Self::LogFormat => "COGWORKER_LOG_FORMAT",
            Self::HealthBind => "COGWORKER_HEALTH_BIND",
            Self::Redis => redis_config::URL_VAR,
            Self::RedisKeyPrefix => redis_config::KEY_PREFIX_VAR,
            Self::RedisConnectTimeout => redis_config::CONNECT_TIMEOUT_VAR,
            Self::RedisCommandTimeout => redis_config::COMMAND_TIMEOUT_VAR,
        })
    }

    /// The flag that sets it, if there is one.
    pub fn flag(self) -> Option<&'static str> {
        match self {
            Self::Concurrency => Some("--concurrency"),
            Self::Queues => Some("--queue"),
            Self::Environment => Some("--environment"),
            Self::Logfile => Some("--logfile"),
            Self::LogFormat => Some("--log-format"),
            Self::HealthBind => Some("--health-bind"),
            _ => None,
        }
    }

    /// What it accepts, in words, as in messages.
    pub fn expected(self) -> String {
        self.rule().expected()
    }

    /// What it accepts. The upper bounds only catch slips, above all in the unit.
    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Concurrency => Rule::Whole { min: 1, max: 65_536 },
            Self::Queues => Rule::Queues,
            Self::Fetch => Rule::Fetch,
            Self::FetchIdleMaxInterval => Rule::Seconds { min: 0.001, max: 3_600.0 },
            Self::OrphanThreshold => Rule::Seconds { min: 0.001, max: 30.0 * 86_400.0 },
            Self::MaxOrphanings => Rule::Whole { min: 1, max: 1_000_000 },
            // Redis counts the life of a lock in whole seconds.
            Self::UniqueLockTtl => Rule::Seconds { min: 1.0, max: 10.0 * YEAR },
            Self::PeriodicCatchUp => Rule::Flag,
            Self::ShutdownTimeout => Rule::Seconds { min: 0.0, max: 86_400.0 },
            Self::Environment => Rule::Environment,
            Self::Logfile | Self::RedisKeyPrefix => Rule::Text,
            Self::LogFormat => Rule::LogFormat,
            Self::HealthBind => Rule::Address,
            Self::Redis => Rule::Redis,
            Self::RedisConnectTimeout | Self::RedisCommandTimeout => Rule::Seconds { min: 0.001, max: 600.0 },
        }
    }

    /// Reads a whole number.
    pub(crate) fn read_whole(self, text: &str) -> Result<u64, Mismatch> {
        let value = self.rule().read(&Node::text(text))?;
        value
            .to_u128()
            .and_then(|number| number.try_into().ok())
            .ok_or_else(|| Mismatch::new(self.expected(), found(text)))
    }

    /// The setting with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
