//! What others read of the engine while it runs.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use super::running_locks::RunningLocks;

/// Numbers that others read while the engine runs.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) busy: AtomicUsize,
    pub(crate) quiet: AtomicBool,
    /// True while jobs are popped rather than moved onto the in-progress list.
    pub(crate) basic: AtomicBool,
    /// True once dead processes were looked for.
    pub(crate) recovered_once: AtomicBool,
    /// Registered processes, as the last heartbeat found them; 0 before the first.
    pub(crate) processes: AtomicUsize,
    /// Runs that hold the running lock of their periodic entry.
    pub(crate) running_locks: RunningLocks,
}
