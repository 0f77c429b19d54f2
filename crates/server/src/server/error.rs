//! How a worker's run can fail.

use std::net::SocketAddr;

use cogworker_core::redis::RedisError;

use crate::counted::jobs;
use crate::periodic::PeriodicError;
use crate::services::watchdog::WatchdogError;

/// Why a worker could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Redis cannot be used as configured.
    #[error("start the worker: failed to {0}")]
    Redis(RedisError),
    /// The operating system refused a thread.
    #[error("start the worker's engine: {0}")]
    Engine(std::io::Error),
    /// Health checks cannot be answered at the configured address.
    #[error("start the worker: answer health checks at {address}: {source}")]
    Health {
        /// As configured.
        address: SocketAddr,
        /// The system's reason.
        r#source: std::io::Error,
    },
    /// Two handlers are registered for the same class.
    #[error("start the worker: failed to register class {class}: two handlers have it")]
    TwoHandlers {
        /// As their jobs have it.
        class: &'static str,
    },
    /// A periodic entry cannot be used.
    #[error("start the worker: failed to {0}")]
    Periodic(PeriodicError),
    /// The engine ended by itself, which is a fault of ours.
    #[error("keep the worker's engine running: it ended by itself")]
    EngineEnded,
    /// Jobs could neither be settled nor given back before the end; another process recovers them.
    #[error(
        "settle {} before the end: what is not settled stays on this process's list until it is recovered",
        held_jobs(*.held)
    )]
    JobsLeft {
        /// How many; `None` when the list cannot be read.
        held: Option<u64>,
    },
}

fn held_jobs(held: Option<u64>) -> String {
    held.map_or_else(|| "all jobs".to_owned(), jobs)
}

impl From<RedisError> for ServerError {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

impl From<PeriodicError> for ServerError {
    fn from(error: PeriodicError) -> Self {
        Self::Periodic(error)
    }
}

impl From<WatchdogError> for ServerError {
    fn from(error: WatchdogError) -> Self {
        match error {
            WatchdogError::Bind(address, source) => Self::Health { address, source },
            WatchdogError::Thread(source) => Self::Engine(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use super::*;

    #[test]
    fn a_cause_that_the_message_tells_is_not_told_by_the_source_again() {
        let errors = [
            ServerError::Redis(RedisError::Disconnected("it is away".into())),
            ServerError::Engine(io::Error::other("it is away")),
            ServerError::Health {
                address: ([127, 0, 0, 1], 7433).into(),
                source: io::Error::other("it is away"),
            },
        ];
        for error in errors {
            assert!(error.to_string().ends_with("it is away") && error.source().is_none(), "{error}");
        }
    }
}
