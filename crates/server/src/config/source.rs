//! Where a setting came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::Key;

/// Where a setting came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Nothing set it.
    #[default]
    Default,
    /// The configuration file.
    File {
        /// As it was given.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A variable of the environment.
    Env {
        /// Its name.
        var: String,
    },
    /// A flag on the command line.
    Flag {
        /// In its long form.
        flag: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env { var } => write!(f, "env {var}"),
            Self::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}

/// The source of every setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(pub(super) BTreeMap<Key, Source>);

impl Sources {
    /// Where `key` came from.
    pub fn get(&self, key: Key) -> Source {
        self.0.get(&key).cloned().unwrap_or_default()
    }
}
