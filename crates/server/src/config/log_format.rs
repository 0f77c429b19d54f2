//! The formats of the log by name.

use std::fmt;
use std::str::FromStr;

use super::rule::{Mismatch, found};

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogFormat {
    /// Lines for people: time, process, level, message, `key=value`.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    /// Every format.
    pub const ALL: &'static [Self] = &[Self::Text, Self::Json];

    /// The name in files, variables and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LogFormat {
    type Err = Mismatch;

    fn from_str(text: &str) -> Result<Self, Mismatch> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| Mismatch::new("text or json", found(text)))
    }
}
