//! The worker's settings and where they come from.
//!
//! Defaults, then the YAML file (`-C`), then the environment (`REDIS_URL`, `COGWORKER_<KEY>`),
//! then the flags; the later one wins. Anything that cannot be used is an error that names the
//! place, the key, what was expected and what was found.

mod erb;
mod error;
mod file;
mod layers;
mod setting;

use std::path::PathBuf;
use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;

pub use error::ConfigError;
pub(crate) use layers::ENVIRONMENT_VARIABLES;
pub use layers::{Loaded, Sources, load};
pub use setting::{Key, parse_queue_flag};

/// How jobs are taken off their queues (MODE-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FetchMode {
    /// Onto an in-progress list of the process: nothing is lost when it dies.
    #[default]
    Reliable,
    /// Popped: a job of a process that dies is lost.
    Basic,
}

impl FetchMode {
    /// As written in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Basic => "basic",
        }
    }
}

/// The settings of a worker process. The defaults are the gem's (CONF-12).
///
/// ```
/// use cogworker_server::Config;
///
/// let mut config = Config::default();
/// config.queues = vec!["default".into(), "default".into(), "low".into()]; // a repeat is a weight
/// config.concurrency = 25;
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How many jobs run at a time.
    pub concurrency: usize,
    /// The queues it reads; naming one twice gives it twice the weight.
    pub queues: Vec<String>,
    /// How jobs are taken off their queues.
    pub fetch: FetchMode,
    /// The longest pause between two looks at empty queues, where they cannot be waited on.
    pub fetch_idle_max_interval: Duration,
    /// A process without a heartbeat for so long is dead, and its jobs are recovered.
    pub orphan_threshold: Duration,
    /// A job recovered more often than this goes to dead.
    pub max_orphanings: u32,
    /// How long a unique lock holds at most, from when its job is due.
    pub unique_lock_ttl: Duration,
    /// Whether a periodic entry's latest due slot runs at the first start.
    pub periodic_catch_up: bool,
    /// How long running jobs have to finish at a stop.
    pub shutdown_timeout: Duration,
    /// Where the log goes; without, to standard output.
    pub logfile: Option<PathBuf>,
    /// The environment's name.
    pub environment: String,
    /// Where Redis is.
    pub redis: RedisConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            concurrency: 10,
            queues: vec!["default".into()],
            fetch: FetchMode::Reliable,
            fetch_idle_max_interval: Duration::from_secs(1),
            orphan_threshold: Duration::from_secs(300),
            max_orphanings: 3,
            unique_lock_ttl: Duration::from_secs(86_400),
            periodic_catch_up: true,
            shutdown_timeout: Duration::from_secs(25),
            logfile: None,
            environment: "development".into(),
            redis: RedisConfig::default(),
        }
    }
}
