//! What can go wrong with a test's Redis servers.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use crate::{FetchError, RedisBinaryError, RespError, RespValue, SignalError};

/// How long a server may take to answer. Normal is a hundredth of a second; loading a large append-only file
/// on a busy machine is the exception.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(20);

/// Why a test's Redis server did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestRedisError {
    /// There is no server program.
    #[error("get a Redis server to start")]
    Binary(#[from] RedisBinaryError),
    /// A file, folder or process could not be made.
    #[error("start a test Redis")]
    Io(#[from] io::Error),
    /// The server ended while it started.
    #[error("start a test Redis: it ended with {status}; its log:\n{log}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote.
        log: String,
    },
    /// The server did not answer in time.
    #[error("start a test Redis: no answer within {START_DEADLINE:?}; its log:\n{log}")]
    Silent {
        /// What it wrote.
        log: String,
    },
    /// The server is not running.
    #[error("reach the test Redis: it is not running")]
    NotRunning,
    /// A signal could not be sent to it.
    #[error("signal the test Redis")]
    Signal(#[from] SignalError),
    /// The certificates of a TLS server could not be made; the `openssl` program does it.
    #[error("make certificates for a test Redis with openssl")]
    Certificates(#[source] FetchError),
    /// A command got no reply.
    #[error("command the test Redis")]
    Command(#[from] RespError),
    /// A command got an error, or another reply than it should have.
    #[error("have the test Redis do {command}: it replied {reply:?}")]
    Refused {
        /// The command.
        command: String,
        /// What Redis replied.
        reply: RespValue,
    },
    /// A state was not reached in time.
    #[error("see {what} within {deadline:?}; found {found}")]
    Late {
        /// The state that was waited for.
        what: String,
        /// How long.
        deadline: Duration,
        /// The state at the deadline.
        found: String,
    },
}
