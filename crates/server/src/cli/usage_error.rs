//! Flags that are wrong.

use std::fmt;

/// Flags that are wrong, or ask for help or the version. It is shown as several lines: what is wrong and how the program is
/// called, or the answer.
#[derive(Debug)]
pub struct UsageError(clap::Error);

impl UsageError {
    /// clap's own error stays inside, so that its versions are none of ours.
    pub(super) fn new(error: clap::Error) -> Self {
        Self(error)
    }

    /// Whether this is the help or the version, and nothing is wrong.
    pub fn is_answer(&self) -> bool {
        !self.0.use_stderr()
    }

    /// To where it belongs, in colour if that is a terminal.
    pub(super) fn print(&self) {
        // A closed stream is no reason to panic: the exit code still tells.
        let _ = self.0.print();
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UsageError {}
