//! The YAML file: rendered, parsed, and overlaid by the environment's section.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::erb;
use super::{ConfigError, Key};

/// Sections that are understood as environments even when another one is in force.
const ENVIRONMENTS: [&str; 4] = ["development", "test", "staging", "production"];

/// The settings of the file at `path` in the given environment.
///
/// # Errors
/// When the file cannot be read, an expression in it fails, or it has a key that does not exist.
pub(super) fn read(
    path: &Path,
    environment: &str,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<(Key, Value)>, ConfigError> {
    let file_error = |reason: String| ConfigError::File { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| file_error(error.to_string()))?;
    let rendered = erb::render(&text, variables).map_err(|error| ConfigError::Erb {
        path: path.to_owned(),
        line: error.line,
        expression: error.expression,
        reason: error.reason,
    })?;
    if rendered.lines().all(|line| matches!(line.trim(), "" | "---") || line.trim().starts_with('#')) {
        return Ok(Vec::new());
    }
    let parsed: Value = serde_saphyr::from_str(&rendered).map_err(|error| file_error(error.to_string()))?;
    let mut settings = match without_colons(parsed) {
        Value::Null => return Ok(Vec::new()),
        Value::Object(settings) => settings,
        _ => return Err(file_error("expected keys and values at the top".into())),
    };
    let mut section = Map::new();
    settings.retain(|name, value| match value {
        Value::Object(values) if name == environment => {
            section = std::mem::take(values);
            false
        }
        Value::Object(_) => !ENVIRONMENTS.contains(&name.as_str()),
        _ => true,
    });
    settings.extend(section);

    let place = path.display().to_string();
    settings
        .into_iter()
        .map(|(name, value)| match Key::named(&name) {
            Some(key) => Ok((key, value)),
            None => Err(ConfigError::UnknownKey { place: place.clone(), hint: nearest(&name), key: name }),
        })
        .collect()
}

/// Ruby writes `:concurrency: 5`: the colon is no part of the name.
fn without_colons(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.trim_start_matches(':').to_owned(), without_colons(value)))
                .collect(),
        ),
        other => other,
    }
}

/// A hint at the setting whose name shares the most letters in order.
pub(super) fn nearest(name: &str) -> String {
    let likeness = |key: &Key| {
        let mut letters = key.name().chars().peekable();
        name.chars().filter(|letter| letters.next_if_eq(letter).is_some()).count()
    };
    let best = Key::ALL.into_iter().max_by_key(likeness);
    match best {
        Some(key) if likeness(&key) * 2 > name.len() => format!("; did you mean {}?", key.name()),
        _ => {
            let names: Vec<&str> = Key::ALL.iter().map(|key| key.name()).collect();
            format!("; there are {}", names.join(", "))
        }
    }
}
