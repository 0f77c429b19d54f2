//! A job that this process took off a queue.

use std::sync::Arc;

use bytes::Bytes;
use cogworker_core::scripts::Held;

/// The raw bytes are the token of ownership: as long as they are on this process's in-progress
/// list, the job is ours. A popped job is nobody else's from the start.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) raw: Bytes,
    pub(crate) queue: Arc<str>,
    pub(crate) held: Held,
}
