//! What can go wrong when a server program is fetched.

use std::io;
use std::path::PathBuf;

/// What went wrong while fetching packages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A command could not be run at all.
    #[error("run {command}: {source}")]
    Run {
        /// The program's name.
        command: String,
        /// The system's reason.
        r#source: io::Error,
    },
    /// A command reported a failure.
    #[error("run {command}: {output}")]
    Failed {
        /// The command line.
        command: String,
        /// The end of what it wrote.
        output: String,
    },
    /// A file or folder could not be written.
    #[error("write {path}: {source}", path = path.display())]
    Write {
        /// What was being written.
        path: PathBuf,
        /// The system's reason.
        r#source: io::Error,
    },
}
