//! Why a client's call failed.

use cogworker_core::new_job::NewJobError;
use cogworker_core::redis::RedisError;

use crate::middleware::MiddlewareError;

/// A failed call of the client.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The job is not as it must be. Nothing was written.
    #[error(transparent)]
    Job(#[from] NewJobError),
    /// A middleware failed, which is its source. Nothing was written.
    #[error(transparent)]
    Middleware(#[from] MiddlewareError),
    /// Redis did not carry the call out, or its reply got lost: see
    /// [`RedisError::fate_is_unknown`].
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// A bulk push stopped on its way: so many of its first jobs had been pushed for certain.
    #[error("push all jobs: {pushed} of {total} were pushed, then failed to {source}")]
    Bulk {
        /// Pushed for certain.
        pushed: usize,
        /// Jobs in the call.
        total: usize,
        /// Why it stopped.
        source: RedisError,
    },
}
