//! Failures that services filed and could not count at once.

use std::sync::atomic::{AtomicU64, Ordering};

use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, FailureCount};
use tracing::error;

use super::line::Line;

const PLACE: &str = "counting failures that were filed";

/// They are counted as soon as the counter takes them (PROC-14).
#[derive(Debug, Default)]
pub(crate) struct Uncounted {
    failures: AtomicU64,
}

impl Uncounted {
    /// Takes what a step says of its failures.
    pub(crate) fn note(&self, count: FailureCount) {
        self.failures.fetch_add(count.missing, Ordering::AcqRel);
        match (count.missing, count.error) {
            (0, Some(failure)) => {
                error!("{PLACE}: failed to {failure}; the throughput of this hour goes without them");
            }
            (missing, Some(failure)) => {
                error!("{PLACE}: failed to {failure}; {missing} are counted later");
            }
            (_, None) => {}
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    /// Tries to count them.
    pub(crate) async fn catch_up(&self, line: &Line) -> Result<(), RedisError> {
        let failures = self.failures.swap(0, Ordering::AcqRel);
        if failures == 0 {
            return Ok(());
        }
        match line.call(PLACE, |redis| scripts::count_failures(redis, failures)).await {
            Ok(count) => self.note(count),
            Err(failure) if failure.fate_is_unknown() => {
                // Counting them again could count them twice.
                error!("{PLACE}: failed to {failure}; {failures} may be missing from now on");
                return Err(failure);
            }
            Err(failure) => {
                self.failures.fetch_add(failures, Ordering::AcqRel);
                return Err(failure);
            }
        }
        Ok(())
    }
}
