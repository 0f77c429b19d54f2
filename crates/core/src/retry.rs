//! How long a failed job waits for its next attempt.

use std::time::Duration;

/// The random part of a delay is one of so many steps.
const JITTER_STEPS: u64 = 30;

/// The delay after the `count`-th failure (from 1), with a random part drawn (RETRY-02).
pub fn backoff(count: u32) -> Duration {
    backoff_with(count, fastrand::u64(0..JITTER_STEPS))
}

/// `count⁴ + 15 + jitter × (count + 1)` seconds; `jitter` is 0 to 29.
pub fn backoff_with(count: u32, jitter: u64) -> Duration {
    let count = u64::from(count);
    // The largest count there is would overflow; such a delay never ends either way.
    let growth = count.checked_pow(4).unwrap_or(u64::from(u32::MAX) << 16);
    Duration::from_secs(growth.saturating_add(15).saturating_add(jitter.saturating_mul(count + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_delay_is_16_to_74_seconds_retry_02() {
        assert_eq!(backoff_with(1, 0), Duration::from_secs(16));
        assert_eq!(backoff_with(1, 29), Duration::from_secs(74));
    }

    proptest! {
        #[test]
        fn a_delay_lies_within_its_bounds_and_never_overflows(count in any::<u32>()) {
            let delay = backoff(count);
            prop_assert!(delay >= backoff_with(count, 0));
            prop_assert!(delay <= backoff_with(count, 29));
        }
    }
}
