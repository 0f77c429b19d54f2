//! A sign of life of the poller.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When the poller last ended a call, or found that it has nothing to do.
#[derive(Debug, Default)]
pub(crate) struct LastPoll(Mutex<Option<Instant>>);

impl LastPoll {
    pub(super) fn mark(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// How long ago that was; nothing before the first time.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).map(|last| last.elapsed())
    }
}
