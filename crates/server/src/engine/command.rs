//! What the engine is told.

use std::time::Duration;

/// What the engine is told from outside.
#[derive(Debug)]
pub(crate) enum Command {
    /// Take no further jobs.
    Quiet,
    /// Take jobs again.
    Resume,
    /// The pause set, as a heartbeat read it.
    Paused(Vec<String>),
    /// Say what is running (signal TTIN).
    LogRunning,
    /// Finish: wait for the running jobs up to the limit, then give the rest back.
    Stop { limit: Duration },
}
