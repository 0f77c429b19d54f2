//! The way to Redis: found as a worker finds it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cogworker_client::Client;
use cogworker_core::redis_config::{RedisConfig, URL_VAR};
use cogworker_server::cli::{self, Loaded};
use cogworker_server::config::EnvVars;

use crate::exit::{Failure, While};

/// Whoever sits before a terminal is told after this long that Redis is away, whatever a worker is set to.
const LONGEST: Duration = Duration::from_secs(5);

/// Where Redis is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Redis is here, and not where REDIS_URL or the file of -C say
    #[arg(long, value_name = "URL", global = true, help_heading = "Options of every command")]
    pub(crate) redis_url: Option<String>,

    /// Read the settings from a worker's YAML file
    #[arg(short = 'C', long, value_name = "PATH", global = true, help_heading = "Options of every command")]
    pub(crate) config: Option<PathBuf>,

    /// The environment whose section of the file counts
    #[arg(short, long, value_name = "ENV", global = true, help_heading = "Options of every command")]
    pub(crate) environment: Option<String>,
}

/// A client, and where it leads.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Without a password.
    pub(crate) place: String,
}

impl Place {
    /// The settings of a worker that was started with these.
    fn load(&self) -> Result<Loaded, Failure> {
        let wrong = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
        let mut vars: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        if let Some(url) = &self.redis_url {
            RedisConfig::new(url).map_err(|error| wrong(&format!("--redis-url: {error}")))?;
            vars.retain(|(name, _)| name != URL_VAR);
            vars.push((URL_VAR.into(), url.into()));
        }
        let env: EnvVars = vars.into_iter().collect();
        let mut args: Vec<OsString> = vec!["cogworker".into()];
        if let Some(path) = &self.config {
            args.extend(["--config".into(), path.into()]);
        }
        if let Some(name) = &self.environment {
            args.extend(["--environment".into(), name.into()]);
        }
        let cwd = std::env::current_dir().unwrap_or_default();
        cli::load(args, &env, &cwd).map_err(|error| match error {
            cli::CliError::Load(error) => wrong(&error),
            other => wrong(&other.to_string().trim_start_matches("error: ").trim_end()),
        })
    }

    /// The worker's settings for Redis, and for how long a unique lock is kept.
    pub(crate) fn settings(&self) -> Result<(RedisConfig, Duration), Failure> {
        let config = self.load()?.config;
        let mut redis = config.redis;
        redis.connect_timeout = redis.connect_timeout.min(LONGEST);
        redis.command_timeout = redis.command_timeout.min(LONGEST);
        Ok((redis, config.unique_lock_ttl))
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let (config, unique_lock_ttl) = self.settings()?;
        let place = config.to_string();
        let client = Client::connect(&config).await.doing(format!("connect to {place}"))?;
        Ok(Connection { client: client.with_unique_lock_ttl(unique_lock_ttl), place })
    }
}
