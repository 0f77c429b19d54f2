//! Waiting for a state that sends no event.

use std::time::{Duration, Instant};

/// Looks every 5 ms until `reached` says so; false when `limit` is over first.
#[must_use = "a test should fail when the state was not reached"]
pub fn wait_until(limit: Duration, mut reached: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if reached() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
