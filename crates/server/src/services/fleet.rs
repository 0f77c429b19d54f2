//! What all processes together ask of Redis must not grow with the square of their number.

use std::time::Duration;

/// So many processes may each look at all others once a period.
const AT_FULL_RATE: u32 = 200;
/// A process looks at least once in so many periods, should it be the only one left of many.
const LONGEST: u32 = 5;

/// How long a process waits between two passes over everything that all of them know. Each pass
/// costs as much as there are processes, and any process's pass serves all.
pub(super) fn period_among(processes: usize, period: Duration) -> Duration {
    let processes = u32::try_from(processes).unwrap_or(u32::MAX);
    let share = f64::from(processes) / f64::from(AT_FULL_RATE);
    period.mul_f64(share.clamp(1.0, f64::from(LONGEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_200_processes_look_once_a_period_and_more_of_them_less_often() {
        let minute = Duration::from_secs(60);
        for (processes, seconds) in [(0, 60), (1, 60), (200, 60), (400, 120), (1000, 300), (usize::MAX, 300)]
        {
            assert_eq!(period_among(processes, minute), Duration::from_secs(seconds), "{processes}");
        }
    }
}
