//! The settings of a worker.
//!
//! [`Config`] is made by a [builder](Config::builder), which checks it, or by [`cli::load`](crate::cli::load)
//! from a file, the environment and flags. Every setting is described in `docs/configuration.md`; its
//! name, bounds and variable stand in one table, [`Key`].

mod builder;
mod env_vars;
mod erb;
mod fetch_mode;
mod file;
mod key;
mod layers;
mod log_format;
mod nearest;
mod node;
mod queue;
mod redis;
mod rule;
mod source;
mod timings;
mod yaml;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;

pub use self::builder::{ConfigBuilder, ConfigError};
pub use self::env_vars::EnvVars;
pub use self::erb::ErbError;
pub use self::fetch_mode::FetchMode;
pub use self::key::Key;
pub use self::layers::LoadError;
pub(crate) use self::layers::{Flags, load};
pub use self::log_format::LogFormat;
pub use self::queue::WeightedQueue;
pub(crate) use self::queue::meant_weight;
pub use self::rule::Mismatch;
pub(crate) use self::rule::check_environment;
pub use self::source::{Source, Sources};
#[doc(hidden)]
pub use self::timings::Timings;

/// The settings of a worker process (CONF-02, CONF-03, CONF-12, MODE-01, MAXO-02).
///
/// ```
/// use cogworker_server::Config;
///
/// # fn main() -> Result<(), cogworker_server::ConfigError> {
/// let config = Config::builder().concurrency(25).queue("default", 3).queue("low", 1).build()?;
/// assert_eq!(config.queues, ["default", "default", "default", "low"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How many jobs run at the same time.
    pub concurrency: usize,
    /// The queues to work on; a queue that is repeated is that much more likely to be asked first.
    pub queues: Vec<String>,
    /// How jobs are taken off their queues; with `basic`, what a crashed process was running is lost.
    pub fetch: FetchMode,
    /// The longest pause between two looks at queues that no connection waits on: paused ones, and
    /// those beyond the 32nd (RFETCH-05).
    pub fetch_idle_max_interval: Duration,
    /// How long a process must have been silent before others take over its jobs; in effect at least the 60 s
    /// after which its presence lapses, and up to a minute more until the next look (five, where there are more than 1,000). The same in all processes.
    pub orphan_threshold: Duration,
    /// How often a job may be taken over before it is dead.
    pub max_orphanings: u32,
    /// How long a unique lock lasts from when its job is due, should nothing release it before.
    pub unique_lock_ttl: Duration,
    /// Whether a periodic job that was missed while no worker ran is run once at the next start.
    pub periodic_catch_up: bool,
    /// How long running jobs may go on after a stop was asked for.
    pub shutdown_timeout: Duration,
    /// The name of the environment, such as `production`; not in the file.
    pub environment: String,
    /// Where the log goes, from the current folder if relative; without one, to standard output. HUP opens it again.
    pub logfile: Option<PathBuf>,
    /// How the log is written.
    pub log_format: LogFormat,
    /// Where health checks are answered over HTTP; without it, nowhere.
    pub health_bind: Option<SocketAddr>,
    /// Where Redis is.
    pub redis: RedisConfig,
    #[doc(hidden)]
    pub timings: Timings,
}

impl Config {
    /// Starts from the defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// Each queue once, in the order of its first mention, with the number of mentions as its weight.
    pub fn weighted_queues(&self) -> Vec<WeightedQueue> {
        queue::weighted(&self.queues)
    }
}
