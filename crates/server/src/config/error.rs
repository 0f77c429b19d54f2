//! What is wrong with a configuration.

use std::path::PathBuf;

/// A configuration that cannot be used. Nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read, or is no YAML.
    #[error("read the configuration file {}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An expression in the file is not one that is understood, or fails.
    #[error("read the configuration file {}: line {line}: <%= {expression} %>: {reason}", path.display())]
    Erb {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The expression.
        expression: String,
        /// Why.
        reason: String,
    },
    /// A key that does not exist.
    #[error("use {place}: there is no setting {key}{hint}")]
    UnknownKey {
        /// The file or variable.
        place: String,
        /// The key.
        key: String,
        /// The nearest one that exists.
        hint: String,
    },
    /// A value that cannot be used.
    #[error("use {place}: {key} must be {expected}, found {found}")]
    BadValue {
        /// The file, variable or flag.
        place: String,
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
}
