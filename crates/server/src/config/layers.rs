//! Puts the layers on top of each other and remembers where each value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::{Config, ConfigError, Key, file};
use crate::cli::Flags;

/// Where each setting's value came from.
pub type Sources = BTreeMap<Key, String>;

/// A configuration and where it came from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Where they came from; what is missing here is a default.
    pub sources: Sources,
}

impl fmt::Display for Loaded {
    /// One line a setting, as `--print-config` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in Key::ALL {
            let source = self.sources.get(&key).map_or("default", String::as_str);
            writeln!(f, "{}: {}  # {source}", key.name(), key.show(&self.config))?;
        }
        Ok(())
    }
}

/// Loads the configuration for these flags and environment variables.
///
/// # Errors
/// Names the place and key of the first value that cannot be used.
pub fn load(flags: &Flags, variables: &BTreeMap<String, String>) -> Result<Loaded, ConfigError> {
    let mut loaded = Loaded { config: Config::default(), sources: Sources::new() };
    let mut set = |key: Key, value: &Value, place: String| -> Result<(), ConfigError> {
        key.apply(&mut loaded.config, value, &place)?;
        loaded.sources.insert(key, place);
        Ok(())
    };
    let (environment, environment_from) = environment(flags, variables);
    if let Some(path) = &flags.config {
        for (key, value) in file::read(Path::new(path), &environment, variables)? {
            set(key, &value, path.display().to_string())?;
        }
    }
    check_variables(variables)?;
    for key in Key::ALL {
        let variable = key.variable();
        if let Some(text) = variables.get(&variable) {
            set(key, &Value::from(text.as_str()), variable)?;
        }
    }
    if let Some(place) = environment_from {
        set(Key::Environment, &Value::from(environment), place)?;
    }
    if let Some(concurrency) = flags.concurrency {
        set(Key::Concurrency, &Value::from(concurrency), "-c".into())?;
    }
    if !flags.queues.is_empty() {
        let queues: Vec<String> = flags.queues.iter().flat_map(|flag| flag.0.iter().cloned()).collect();
        set(Key::Queues, &Value::from(queues), "-q".into())?;
    }
    if let Some(path) = &flags.logfile {
        set(Key::Logfile, &Value::from(path.display().to_string()), "-L".into())?;
    }
    Ok(loaded)
}

/// The environment's name: `-e`, else the first of the variables that is set (CONF-11).
pub(crate) fn environment(flags: &Flags, variables: &BTreeMap<String, String>) -> (String, Option<String>) {
    if let Some(name) = &flags.environment {
        return (name.clone(), Some("-e".into()));
    }
    let set = ENVIRONMENT_VARIABLES
        .iter()
        .find_map(|name| variables.get(*name).filter(|value| !value.is_empty()).map(|value| (value, name)));
    match set {
        Some((value, name)) => (value.clone(), Some((*name).to_owned())),
        None => (Config::default().environment, None),
    }
}

/// The variables that carry the environment's name (CONF-10).
pub(crate) const ENVIRONMENT_VARIABLES: [&str; 3] = ["APP_ENV", "RAILS_ENV", "RACK_ENV"];

/// Variables of the swarm and the web UI, which are not the worker's settings.
const OTHERS: [&str; 4] =
    ["COGWORKER_COUNT", "COGWORKER_SESSION_SECRET", "COGWORKER_REDIS_SERVER", "COGWORKER_RELOAD"];

/// A misspelled variable would silently do nothing.
fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    for name in variables.keys().filter(|name| name.starts_with("COGWORKER_")) {
        let known = OTHERS.contains(&name.as_str()) || Key::ALL.iter().any(|key| key.variable() == *name);
        if !known {
            let key = name.trim_start_matches("COGWORKER_").to_ascii_lowercase();
            return Err(ConfigError::UnknownKey { place: name.clone(), hint: file::nearest(&key), key });
        }
    }
    Ok(())
}
