//! How a command ends: its exit code, and what it says when it failed.

use std::fmt;
use std::io;

use cogworker_client::ClientError;
use cogworker_core::redis::RedisError;

/// Done.
pub(crate) const DONE: u8 = 0;
/// Not done: what was named is not there, Redis refused, or a check found a problem.
pub(crate) const FAILED: u8 = 1;
/// The flags, the arguments or the configuration are wrong. Nothing was done.
pub(crate) const USAGE: u8 = 2;
/// Redis is away, or refused the credentials.
pub(crate) const UNREACHABLE: u8 = 3;
/// Nobody said yes. Nothing was done.
pub(crate) const NOT_CONFIRMED: u8 = 4;

/// The codes, for `--help`.
pub(crate) const HELP: &str = "Exit codes: 0 done, 1 failed or found a problem, 2 wrong flags or configuration, \
                               3 Redis cannot be reached, 4 not confirmed.";

/// What a command comes to.
pub(crate) type Outcome = Result<(), Failure>;

/// Why a command is not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be done as it was asked for.
    Usage(String),
    /// What it was about is not there, or not so that it can be done.
    Failed(String),
    /// Redis failed; first what was being done.
    Redis(String, RedisError),
    /// Nobody said yes.
    NotConfirmed(String),
    /// What was found was told already.
    Told,
    /// Whoever reads the output has gone, or it cannot be written.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Redis(_, source) if source.is_outage() || matches!(source, RedisError::Auth(_)) => {
                UNREACHABLE
            }
            Self::Redis(_, RedisError::Config(_)) => USAGE,
            Self::NotConfirmed(_) => NOT_CONFIRMED,
            // As any filter does whose reader has seen enough.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => DONE,
            Self::Failed(_) | Self::Redis(..) | Self::Told | Self::Output(_) => FAILED,
        }
    }

    /// Whether there is anything to say about it.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::Told) || self.code() == DONE
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) | Self::NotConfirmed(text) => f.write_str(text),
            Self::Redis(doing, source) => write!(f, "failed to {doing}: failed to {source}"),
            Self::Told => Ok(()),
            Self::Output(error) => write!(f, "failed to write the output: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Says what was being done when Redis failed.
pub(crate) trait While<T> {
    fn doing(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T> While<T> for Result<T, RedisError> {
    fn doing(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|source| Failure::Redis(what.to_string(), source))
    }
}

impl<T> While<T> for Result<T, ClientError> {
    fn doing(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| match error {
            ClientError::Redis(source) => Failure::Redis(what.to_string(), source),
            other => Failure::Failed(format!("failed to {what}: failed to {other}")),
        })
    }
}
