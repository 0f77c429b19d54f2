//! The log of a job's failed attempts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, MESSAGE_LIMIT, limited};
use crate::time::EpochSeconds;

/// So many of a job's latest attempts are kept (CNT-05).
pub const ATTEMPTS_KEPT: u64 = 25;

/// How long after its last attempt a job's log is kept (CNT-06).
pub const ATTEMPTS_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a failed attempt came to (CNT-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It will be tried again.
    Retrying,
    /// It was the last.
    Dead,
    /// A hook sent it to dead.
    Killed,
    /// A hook gave it up.
    Discarded,
}

/// One failed attempt (CNT-04).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// From 1.
    pub attempt: u32,
    /// When it failed.
    pub failed_at: EpochSeconds,
    /// What it came to.
    pub outcome: AttemptOutcome,
    /// The error's class.
    pub error_class: String,
    /// The error's message.
    pub error_message: String,
}

impl AttemptRecord {
    /// A record of `failure`.
    #[doc(hidden)]
    pub fn new(attempt: u32, failed_at: EpochSeconds, outcome: AttemptOutcome, failure: &Failure) -> Self {
        Self {
            attempt,
            failed_at,
            outcome,
            error_class: failure.class.clone(),
            error_message: limited(&failure.message, MESSAGE_LIMIT).to_owned(),
        }
    }

    /// As stored.
    #[doc(hidden)]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
