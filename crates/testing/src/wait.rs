//! Waiting for a condition.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two looks: short enough that a test loses no time, long enough to leave the CPU
/// to what it waits for.
const STEP: Duration = Duration::from_millis(5);

/// Looks at `condition` every 5 ms until it holds (`true`) or `deadline` has passed (`false`).
///
/// The condition is looked at once even when the deadline is zero, and once more after it. The calling thread
/// is blocked meanwhile: in an async test use a multi-threaded runtime, so that the code under test goes on.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// assert!(cogworker_testing::wait_until(Duration::from_secs(5), || start.elapsed().as_millis() > 10));
/// ```
#[must_use = "a condition that never held is reported by the returned value alone"]
pub fn wait_until(deadline: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        let last = Instant::now() >= end;
        if condition() {
            return true;
        }
        if last {
            return false;
        }
        thread::sleep(STEP.min(end.saturating_duration_since(Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_comes_true_later_is_seen() {
        let mut looks = 0;
        let met = wait_until(Duration::from_secs(10), || {
            looks += 1;
            looks == 3
        });
        assert!(met);
        assert_eq!(looks, 3);
    }

    #[test]
    fn a_condition_that_never_holds_ends_at_the_deadline() {
        let start = Instant::now();
        assert!(!wait_until(Duration::from_millis(20), || false));
        assert!(start.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_zero_deadline_still_looks_once() {
        assert!(wait_until(Duration::ZERO, || true));
    }
}
