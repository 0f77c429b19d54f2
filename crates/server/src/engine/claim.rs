//! A job that this process took off a queue.

use std::sync::Arc;

use bytes::Bytes;

/// The raw bytes are the token of ownership: as long as they are on this process's in-progress
/// list, the job is ours.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) raw: Bytes,
    pub(crate) queue: Arc<str>,
}
