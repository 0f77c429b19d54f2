//! Each setting: its name, and how its value is read from whatever place.

use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;
use serde_json::Value;

use super::{Config, ConfigError, FetchMode};

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the field of the same name in `Config`")]
pub enum Key {
    Concurrency,
    Queues,
    Fetch,
    FetchIdleMaxInterval,
    OrphanThreshold,
    MaxOrphanings,
    UniqueLockTtl,
    PeriodicCatchUp,
    ShutdownTimeout,
    Logfile,
    Environment,
    Redis,
}

impl Key {
    /// Every setting, in the order of the documentation.
    pub const ALL: [Self; 12] = [
        Self::Concurrency,
        Self::Queues,
        Self::Fetch,
        Self::FetchIdleMaxInterval,
        Self::OrphanThreshold,
        Self::MaxOrphanings,
        Self::UniqueLockTtl,
        Self::PeriodicCatchUp,
        Self::ShutdownTimeout,
        Self::Logfile,
        Self::Environment,
        Self::Redis,
    ];

    /// As written in a file.
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
            Self::Logfile => "logfile",
            Self::Environment => "environment",
            Self::Redis => "redis",
        }
    }

    /// The setting of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The environment variable that sets it.
    pub fn variable(self) -> String {
        match self {
            Self::Redis => "REDIS_URL".into(),
            key => format!("COGWORKER_{}", key.name().to_ascii_uppercase()),
        }
    }

    /// The value in `config`, as it could be written in a file.
    pub fn show(self, config: &Config) -> String {
        let seconds = |duration: Duration| duration.as_secs_f64().to_string();
        match self {
            Self::Concurrency => config.concurrency.to_string(),
            Self::Queues => format!("[{}]", config.queues.join(", ")),
            Self::Fetch => config.fetch.as_str().into(),
            Self::FetchIdleMaxInterval => seconds(config.fetch_idle_max_interval),
            Self::OrphanThreshold => seconds(config.orphan_threshold),
            Self::MaxOrphanings => config.max_orphanings.to_string(),
            Self::UniqueLockTtl => seconds(config.unique_lock_ttl),
            Self::PeriodicCatchUp => config.periodic_catch_up.to_string(),
            Self::ShutdownTimeout => seconds(config.shutdown_timeout),
            Self::Logfile => config.logfile.as_ref().map_or("~".into(), |path| path.display().to_string()),
            Self::Environment => config.environment.clone(),
            Self::Redis => config.redis.to_string(),
        }
    }

    /// Reads `value` into `config`. Texts are read as numbers, booleans and lists where those are
    /// expected, so that every place can set every key.
    ///
    /// # Errors
    /// Names `place`, the key, what it must be and what was found.
    pub(super) fn apply(self, config: &mut Config, value: &Value, place: &str) -> Result<(), ConfigError> {
        let bad = |expected: &str| ConfigError::BadValue {
            place: place.to_owned(),
            key: self.name(),
            expected: expected.to_owned(),
            found: shown(value),
        };
        match self {
            Self::Concurrency => {
                config.concurrency =
                    whole(value, 1, 10_000).ok_or_else(|| bad("a whole number from 1 to 10000"))? as usize;
            }
            Self::Queues => config.queues = queues(value).ok_or_else(|| bad(QUEUES))?,
            Self::Fetch => {
                config.fetch = match symbol(value).as_deref() {
                    Some("reliable") => FetchMode::Reliable,
                    Some("basic") => FetchMode::Basic,
                    _ => return Err(bad("reliable or basic")),
                };
            }
            Self::FetchIdleMaxInterval => {
                config.fetch_idle_max_interval =
                    seconds(value, 0.0).ok_or_else(|| bad("a positive number of seconds"))?;
            }
            Self::OrphanThreshold => {
                config.orphan_threshold =
                    seconds(value, 0.0).ok_or_else(|| bad("a positive number of seconds"))?;
            }
            Self::MaxOrphanings => {
                config.max_orphanings =
                    whole(value, 1, 1_000_000).ok_or_else(|| bad("a positive whole number"))? as u32;
            }
            Self::UniqueLockTtl => {
                config.unique_lock_ttl =
                    seconds(value, 0.0).ok_or_else(|| bad("a positive number of seconds"))?;
            }
            Self::PeriodicCatchUp => {
                config.periodic_catch_up = match (value, symbol(value).as_deref()) {
                    (Value::Bool(flag), _) => *flag,
                    (_, Some("true")) => true,
                    (_, Some("false")) => false,
                    _ => return Err(bad("true or false")),
                };
            }
            Self::ShutdownTimeout => {
                config.shutdown_timeout =
                    seconds(value, -1.0).ok_or_else(|| bad("a number of seconds, 0 or more"))?;
            }
            Self::Logfile => {
                config.logfile = match value {
                    Value::Null => None,
                    Value::String(path) if !path.is_empty() => Some(path.into()),
                    _ => return Err(bad("a path")),
                };
            }
            Self::Environment => {
                config.environment =
                    symbol(value).filter(|name| !name.is_empty()).ok_or_else(|| bad("a name"))?;
            }
            Self::Redis => config.redis = redis(value, place)?,
        }
        Ok(())
    }
}

const QUEUES: &str = "a list of queue names, at least one";

/// A text without the colon of a Ruby symbol.
fn symbol(value: &Value) -> Option<String> {
    value.as_str().map(|text| text.trim().trim_start_matches(':').to_owned())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|number| number.is_finite())
}

fn whole(value: &Value, from: u64, to: u64) -> Option<u64> {
    let number = number(value)?;
    let fits = number.fract() == 0.0 && number >= from as f64 && number <= to as f64;
    fits.then_some(number as u64)
}

/// More than `above` seconds and less than a century.
fn seconds(value: &Value, above: f64) -> Option<Duration> {
    let number = number(value).filter(|number| *number > above && *number < 3.2e9)?;
    Duration::try_from_secs_f64(number).ok()
}

fn queues(value: &Value) -> Option<Vec<String>> {
    let mut names = Vec::new();
    match value {
        Value::String(list) => names.extend(list.split(',').map(|name| name.trim().to_owned())),
        Value::Array(items) => {
            for item in items {
                match item {
                    // The form [name, weight].
                    Value::Array(pair) => match pair.as_slice() {
                        [name, weight] => {
                            let weight = whole(weight, 1, MOST_WEIGHT)?;
                            let name = symbol(name)?;
                            names.extend(std::iter::repeat_n(name, weight as usize));
                        }
                        _ => return None,
                    },
                    item => names.push(symbol(item)?),
                }
            }
        }
        _ => return None,
    }
    (!names.is_empty() && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// More would only make the random draw slow.
const MOST_WEIGHT: u64 = 1000;

/// Reads `NAME[,WEIGHT]` (CONF-08) into the name, repeated.
///
/// # Errors
/// Says what the part that is wrong must be.
pub fn parse_queue_flag(text: &str) -> Result<Vec<String>, String> {
    let (name, weight) = match text.split_once(',') {
        Some((name, weight)) => {
            let weight = weight.trim();
            let parsed = weight.parse::<u64>().ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
            let parsed = parsed.ok_or(format!(
                "the weight must be a whole number from 1 to {MOST_WEIGHT}, found {weight:?}"
            ))?;
            (name.trim(), parsed)
        }
        None => (text.trim(), 1),
    };
    if name.is_empty() {
        return Err(format!("expected NAME or NAME,WEIGHT, found {text:?}"));
    }
    Ok(vec![name.to_owned(); weight as usize])
}

/// A URL, or a map of `url` or `host`, `port`, `username`, `password`, `db`, `key_prefix`.
fn redis(value: &Value, place: &str) -> Result<RedisConfig, ConfigError> {
    let bad = |expected: &str, found: String| ConfigError::BadValue {
        place: place.to_owned(),
        key: "redis",
        expected: expected.to_owned(),
        found,
    };
    let from_url = |url: &str| RedisConfig::new(url).map_err(|error| bad("a redis url", error.to_string()));
    let fields = match value {
        Value::String(url) => return from_url(url),
        Value::Object(fields) => fields,
        other => return Err(bad("a url, or url, host, port, username, password, db", shown(other))),
    };
    let mut config = RedisConfig::default();
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if let Some(url) = text("url") {
        config = from_url(url)?;
    } else {
        let host = text("host").unwrap_or("127.0.0.1");
        let port = match fields.get("port") {
            Some(port) => whole(port, 1, 65_535).ok_or_else(|| bad("port: 1 to 65535", shown(port)))?,
            None => 6379,
        };
        config = match config {
            _ if host.is_empty() => return Err(bad("host: a name or an address", "nothing".into())),
            _ => RedisConfig::single(host, port as u16),
        };
    }
    for (name, field) in fields {
        let as_text = || field.as_str().map(str::to_owned).unwrap_or_else(|| field.to_string());
        config = match name.as_str() {
            "url" | "host" | "port" | "username" => config,
            "password" => config.with_credentials(text("username"), &as_text()),
            "db" | "database" => {
                let number = whole(field, 0, 255).ok_or_else(|| bad("db: 0 to 255", shown(field)))?;
                config.with_database(number as u8)
            }
            "key_prefix" => config.with_key_prefix(&as_text()),
            other => {
                return Err(ConfigError::UnknownKey {
                    place: place.to_owned(),
                    key: format!("redis.{other}"),
                    hint: "; there are url, host, port, username, password, db and key_prefix".into(),
                });
            }
        };
    }
    Ok(config)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        other => other.to_string().chars().take(80).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_flag_is_a_name_with_a_weight_conf_08() {
        assert_eq!(parse_queue_flag("default,3").unwrap(), ["default", "default", "default"]);
        assert_eq!(parse_queue_flag("low").unwrap(), ["low"]);
        for (text, error) in [
            ("low,0", "the weight must be a whole number from 1 to 1000, found \"0\""),
            ("low,x", "the weight must be a whole number from 1 to 1000, found \"x\""),
            (",2", "expected NAME or NAME,WEIGHT, found \",2\""),
        ] {
            assert_eq!(parse_queue_flag(text).unwrap_err(), error);
        }
    }

    #[test]
    fn every_setting_reads_back_what_it_shows() {
        let config = Config::default();
        for key in Key::ALL {
            let mut other = config.clone();
            let shown = match key {
                Key::Logfile => Value::Null,
                Key::Queues => Value::from(config.queues.join(",")),
                key => Value::from(key.show(&config)),
            };
            key.apply(&mut other, &shown, "a test").unwrap();
            assert_eq!(other, config, "{key:?}");
        }
    }
}
