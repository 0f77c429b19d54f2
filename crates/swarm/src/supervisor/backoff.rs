//! How long a worker that keeps dying is left dead.

use std::time::Duration;

/// A worker that was ready for so long is healthy: what ends it then is a first failure (SWARM-07).
pub(crate) const HEALTHY_UPTIME: Duration = Duration::from_secs(30);

const LONGEST: u64 = 60;

/// Counts the failures in a row of one place in the swarm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// A worker ended that had been ready for so long (`None`: never). The pause before the next one: 0, 1, 2, 4 … 60 s
    /// (SWARM-05). How long it lived does not count: a slow start that fails is a failure like any other (P-43).
    pub(crate) fn failed(&mut self, ready_for: Option<Duration>) -> Duration {
        if ready_for.is_some_and(|uptime| uptime >= HEALTHY_UPTIME) {
            self.failures = 0;
        }
        let pause = match self.failures {
            0 => 0,
            failures => 1u64.checked_shl(failures - 1).unwrap_or(LONGEST).min(LONGEST),
        };
        // Beyond it nothing changes any more.
        self.failures = (self.failures + 1).min(32);
        Duration::from_secs(pause)
    }

    /// How many failures in a row there were.
    pub(crate) fn failures(self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(backoff: &mut Backoff, uptimes: &[Option<u64>]) -> Vec<u64> {
        uptimes.iter().map(|uptime| backoff.failed(uptime.map(Duration::from_secs)).as_secs()).collect()
    }

    #[test]
    fn pauses_grow_from_0_to_60_seconds_swarm_05() {
        let mut backoff = Backoff::default();
        assert_eq!(pauses(&mut backoff, &[None; 9]), [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pauses(&mut backoff, &[None; 100]), [60; 100]);
    }

    #[test]
    fn only_30_ready_seconds_begin_anew_swarm_07() {
        let mut backoff = Backoff::default();
        assert_eq!(
            pauses(&mut backoff, &[None, Some(29), Some(0), Some(30), None, Some(31)]),
            [0, 1, 2, 0, 1, 0]
        );
    }
}
