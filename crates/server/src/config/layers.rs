//! The layers of the configuration and their order: defaults, file, environment, flags.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cogworker_core::redis_config::{self, RedisConfig, RedisConfigError};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use serde::Deserialize;

use super::nearest::nearest;
use super::node::{Content, Node};
use super::rule::{Mismatch, found};
use super::{Config, ConfigError, EnvVars, Key, Source, Sources, WeightedQueue, file};

/// What starts every variable of ours but `REDIS_URL`.
const ENV_PREFIX: &str = "COGWORKER_";

/// A configuration that cannot be loaded. The message names place, key, what is expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The configuration file cannot be read.
    #[error("configuration file {path}: {source}", path = path.display())]
    File {
        /// As it was given.
        path: PathBuf,
        /// The system's reason.
        r#source: io::Error,
    },
    /// An expression of the file is not understood, or has no value.
    #[error("{path}: {source}", path = path.display())]
    Template {
        /// As it was given.
        path: PathBuf,
        /// Names line and expression.
        r#source: super::erb::ErbError,
    },
    /// The file is not YAML.
    #[error("{path}:{line}: expected YAML, found {message}", path = path.display())]
    Syntax {
        /// As it was given.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The parser's reason.
        message: String,
    },
    /// A key or variable that means nothing.
    #[error("{at}: unknown key {key:?}, {hint}")]
    UnknownKey {
        /// Where it stands.
        at: Source,
        /// As it was found.
        key: String,
        /// The nearest known key, or all of them.
        hint: String,
    },
    /// A value that its setting does not accept.
    #[error("{at}: {key}: {source}")]
    Invalid {
        /// Where it stands.
        at: Source,
        /// The setting.
        key: String,
        /// What is expected, and what was found.
        r#source: Box<Mismatch>,
    },
    /// Redis settings that do not fit together.
    #[error("{at}: {source}")]
    Redis {
        /// Where the Redis server is named.
        at: Source,
        /// What does not fit.
        r#source: Box<RedisConfigError>,
    },
    /// The layers do not make up a configuration.
    #[error("the layers do not make up a configuration: {message}")]
    Merge {
        /// The reason.
        message: String,
    },
}

impl LoadError {
    pub(crate) fn invalid(at: Source, key: impl Into<String>, mismatch: Mismatch) -> Self {
        Self::Invalid { at, key: key.into(), source: Box::new(mismatch) }
    }
}

/// What the flags set.
#[derive(Debug)]
pub(crate) struct Flags {
    pub(crate) config: Option<PathBuf>,
    pub(crate) concurrency: Option<u64>,
    pub(crate) queues: Vec<WeightedQueue>,
    pub(crate) logfile: Option<PathBuf>,
    pub(crate) log_format: Option<String>,
    pub(crate) health_bind: Option<String>,
    /// Already chosen, as it decides which section of the file counts.
    pub(crate) environment: (String, Source),
}

/// Loads the configuration from all layers.
pub(crate) fn load(flags: &Flags, env: &EnvVars, cwd: &Path) -> Result<(Config, Sources), LoadError> {
    let mut layers = vec![defaults()];
    if let Some(path) = &flags.config {
        layers.push(file::read(path, &cwd.join(path), &flags.environment.0, env)?);
    }
    layers.push(environment(env)?);
    layers.push(flag_layer(flags)?);

    let figment = layers.iter().fold(Figment::new(), |figment, layer| figment.merge(layer));
    let mut sources = Sources::default();
    for key in Key::ALL.iter().copied() {
        let name = figment.find_metadata(key.name()).map(|metadata| metadata.name.as_ref());
        let layer = layers.iter().find(|layer| Some(layer.name) == name);
        if let Some((_, source)) = layer.and_then(|layer| layer.settings.get(&key)) {
            sources.0.insert(key, source.clone());
        }
    }
    let settings: Settings =
        figment.extract().map_err(|error| LoadError::Merge { message: error.to_string() })?;
    let config = settings.into_config(cwd, &sources)?;
    Ok((config, sources))
}

/// The settings of one layer, each with its place.
pub(super) struct Layer {
    name: &'static str,
    settings: BTreeMap<Key, (Value, Source)>,
}

impl Layer {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, settings: BTreeMap::new() }
    }

    pub(super) fn set(&mut self, key: Key, value: Value, source: Source) {
        self.settings.insert(key, (value, source));
    }

    /// Reads `node` by the key's rule.
    fn read(&mut self, key: Key, node: &Node, at: Source) -> Result<(), LoadError> {
        match key.rule().read(node) {
            Ok(value) => {
                self.set(key, value, at);
                Ok(())
            }
            Err(mismatch) => Err(LoadError::invalid(at, key.name(), mismatch)),
        }
    }
}

impl Provider for &Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> figment::Result<Map<Profile, Dict>> {
        let dict =
            self.settings.iter().map(|(key, (value, _))| (key.name().to_owned(), value.clone())).collect();
        Ok(Profile::Default.collect(dict))
    }
}

/// The builder's defaults.
fn defaults() -> Layer {
    let defaults = Config::builder().config;
    let seconds = |duration: Duration| Value::from(duration.as_secs_f64());
    let mut layer = Layer::new("defaults");
    for (key, value) in [
        (Key::Concurrency, Value::from(defaults.concurrency)),
        (Key::Queues, Value::from(defaults.queues)),
        (Key::Fetch, Value::from(defaults.fetch.as_str())),
        (Key::LogFormat, Value::from(defaults.log_format.as_str())),
        (Key::FetchIdleMaxInterval, seconds(defaults.fetch_idle_max_interval)),
        (Key::OrphanThreshold, seconds(defaults.orphan_threshold)),
        (Key::MaxOrphanings, Value::from(defaults.max_orphanings)),
        (Key::UniqueLockTtl, seconds(defaults.unique_lock_ttl)),
        (Key::PeriodicCatchUp, Value::from(defaults.periodic_catch_up)),
        (Key::ShutdownTimeout, seconds(defaults.shutdown_timeout)),
        (Key::Redis, Value::from(redis_config::DEFAULT_URL)),
        (Key::RedisConnectTimeout, seconds(defaults.redis.connect_timeout)),
        (Key::RedisCommandTimeout, seconds(defaults.redis.command_timeout)),
    ] {
        layer.set(key, value, Source::Default);
    }
    layer
}

/// `REDIS_URL` and `COGWORKER_<KEY>`.
fn environment(env: &EnvVars) -> Result<Layer, LoadError> {
    let mut layer = Layer::new("environment");
    for key in Key::ALL.iter().copied() {
        let Some(var) = key.env_var() else { continue };
        let Some(value) = env.get(var) else { continue };
        let at = Source::Env { var: var.to_owned() };
        let Some(text) = value.to_str() else {
            return Err(LoadError::invalid(at, key.name(), Mismatch::new("unicode text", "other bytes")));
        };
        let node = match key {
            Key::Queues => queue_list(text).map_err(|why| LoadError::invalid(at.clone(), key.name(), why))?,
            _ => Node::text(text),
        };
        layer.read(key, &node, at)?;
    }
    refuse_slips(env)?;
    Ok(layer)
}

/// `NAME[,WEIGHT],NAME[,WEIGHT],…`: as after `-q`, a number is the weight of the name before it (CONF-08).
fn queue_list(text: &str) -> Result<Node, Mismatch> {
    let mut queues: Vec<Node> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let item_node = Node::text(item);
        if item.is_empty() || !item.bytes().all(|byte| byte.is_ascii_digit()) {
            queues.push(item_node);
            continue;
        }
        match queues.last_mut() {
            Some(name) if matches!(name.content, Content::Scalar(_)) => {
                *name = Node { content: Content::List(vec![name.clone(), item_node]), line: 0 };
            }
            _ => return Err(Mismatch::new("a queue name before a weight", found(item))),
        }
    }
    Ok(Node { content: Content::List(queues), line: 0 })
}

/// Only a near miss is refused: other programs, the swarm and container platforms also set variables that
/// start with our name.
fn refuse_slips(env: &EnvVars) -> Result<(), LoadError> {
    let known = || Key::ALL.iter().copied().filter_map(Key::env_var);
    // One that is set but empty counts as not set.
    for name in env.names().filter(|name| name.starts_with(ENV_PREFIX) && env.get(name).is_some()) {
        if known().any(|var| var == name) {
            continue;
        }
        let suffix = &name[ENV_PREFIX.len()..];
        let hint = match suffix {
            "REDIS" | "REDIS_URL" => Some(redis_config::URL_VAR),
            "ENVIRONMENT" | "ENV" => Some("APP_ENV"),
            _ => nearest(&suffix.to_ascii_lowercase(), Key::ALL.iter().copied().map(Key::name))
                .and_then(Key::named)
                .and_then(Key::env_var),
        };
        if let Some(hint) = hint {
            return Err(LoadError::UnknownKey {
                at: Source::Env { var: name.to_owned() },
                key: suffix.to_ascii_lowercase(),
                hint: format!("did you mean the variable {hint}?"),
            });
        }
    }
    Ok(())
}

fn flag_layer(flags: &Flags) -> Result<Layer, LoadError> {
    let mut layer = Layer::new("flags");
    let at = |key: Key| Source::Flag { flag: key.flag().unwrap_or_default().to_owned() };
    if let Some(concurrency) = flags.concurrency {
        layer.read(Key::Concurrency, &Node::text(concurrency.to_string()), at(Key::Concurrency))?;
    }
    if !flags.queues.is_empty() {
        let pair = |queue: &WeightedQueue| {
            let pair = vec![Node::text(queue.name.as_str()), Node::text(queue.weight.to_string())];
            Node { content: Content::List(pair), line: 0 }
        };
        let node = Node { content: Content::List(flags.queues.iter().map(pair).collect()), line: 0 };
        layer.read(Key::Queues, &node, at(Key::Queues))?;
    }
    if let Some(path) = &flags.logfile {
        let Some(text) = path.to_str() else {
            let mismatch = Mismatch::new("unicode text", "other bytes");
            return Err(LoadError::invalid(at(Key::Logfile), Key::Logfile.name(), mismatch));
        };
        layer.read(Key::Logfile, &Node::text(text), at(Key::Logfile))?;
    }
    if let Some(format) = &flags.log_format {
        layer.read(Key::LogFormat, &Node::text(format), at(Key::LogFormat))?;
    }
    if let Some(address) = &flags.health_bind {
        layer.read(Key::HealthBind, &Node::text(address), at(Key::HealthBind))?;
    }
    let (name, source) = &flags.environment;
    layer.read(Key::Environment, &Node::text(name), source.clone())?;
    Ok(layer)
}

/// The merged layers.
#[derive(Deserialize)]
struct Settings {
    concurrency: usize,
    queues: Vec<String>,
    fetch: String,
    fetch_idle_max_interval: f64,
    orphan_threshold: f64,
    max_orphanings: u32,
    unique_lock_ttl: f64,
    periodic_catch_up: bool,
    shutdown_timeout: f64,
    environment: String,
    logfile: Option<PathBuf>,
    log_format: String,
    health_bind: Option<SocketAddr>,
    redis: String,
    redis_key_prefix: Option<String>,
    redis_connect_timeout: f64,
    redis_command_timeout: f64,
}

impl Settings {
    fn into_config(self, cwd: &Path, sources: &Sources) -> Result<Config, LoadError> {
        let invalid = |key: Key, mismatch| LoadError::invalid(sources.get(key), key.name(), mismatch);
        let redis_error = |source| LoadError::Redis { at: sources.get(Key::Redis), source: Box::new(source) };
        let mut redis = RedisConfig::new(&self.redis).map_err(redis_error)?;
        redis.key_prefix = self.redis_key_prefix;
        redis.connect_timeout = duration(self.redis_connect_timeout);
        redis.command_timeout = duration(self.redis_command_timeout);
        let log_format = self.log_format.parse().map_err(|source| invalid(Key::LogFormat, source))?;
        let fetch = self.fetch.parse().map_err(|source| invalid(Key::Fetch, source))?;
        let mut builder = Config::builder()
            .concurrency(self.concurrency)
            .queues(self.queues)
            .fetch(fetch)
            .log_format(log_format)
            .fetch_idle_max_interval(duration(self.fetch_idle_max_interval))
            .orphan_threshold(duration(self.orphan_threshold))
            .max_orphanings(self.max_orphanings)
            .unique_lock_ttl(duration(self.unique_lock_ttl))
            .periodic_catch_up(self.periodic_catch_up)
            .shutdown_timeout(duration(self.shutdown_timeout))
            .environment(self.environment)
            .redis(redis);
        if let Some(path) = self.logfile {
            builder = builder.logfile(cwd.join(path));
        }
        if let Some(address) = self.health_bind {
            builder = builder.health_bind(address);
        }
        builder.build().map_err(|error| match error {
            ConfigError::Invalid { key, source } => invalid(key, source),
            ConfigError::Redis(source) => redis_error(source),
        })
    }
}

/// Every number was checked by its rule; one that slipped through becomes zero, which `build` judges.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
