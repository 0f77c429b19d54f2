//! The fetch modes by name.

use std::fmt;
use std::str::FromStr;

use super::rule::{Mismatch, found};

/// How jobs are taken off their queues (MODE-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchMode {
    /// A job stays on the process's own list until it is settled, so a crash loses nothing.
    #[default]
    Reliable,
    /// A job is popped: what a crashed process was running is lost.
    Basic,
}

impl FetchMode {
    /// Every mode.
    pub const ALL: &'static [Self] = &[Self::Reliable, Self::Basic];

    /// The name in files, variables and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Basic => "basic",
        }
    }
}

impl fmt::Display for FetchMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FetchMode {
    type Err = Mismatch;

    fn from_str(text: &str) -> Result<Self, Mismatch> {
        Self::ALL
            .iter()
            .copied()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| Mismatch::new("reliable or basic", found(text)))
    }
}
