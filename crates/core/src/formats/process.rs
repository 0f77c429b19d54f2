//! What a process says of itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::EpochSeconds;

/// How long a presence holds without another heartbeat (BEAT-01).
pub const PRESENCE_TTL: Duration = Duration::from_secs(60);

/// The `info` field of a process's presence. Missing fields read as empty, so that a record
/// written by hand counts too (PSET-05).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// The host's name.
    pub hostname: String,
    /// The operating system's process id.
    pub pid: u32,
    /// How many slots it has.
    pub concurrency: usize,
    /// The queues it reads; repeats are weights.
    pub queues: Vec<String>,
    /// When it started.
    pub started_at: EpochSeconds,
    /// Its resident memory, KiB; `None` where that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_kb: Option<u64>,
}

impl Default for ProcessInfo {
    fn default() -> Self {
        Self {
            hostname: String::new(),
            pid: 0,
            concurrency: 0,
            queues: Vec::new(),
            started_at: EpochSeconds::EPOCH,
            rss_kb: None,
        }
    }
}

impl ProcessInfo {
    /// As stored.
    #[doc(hidden)]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
