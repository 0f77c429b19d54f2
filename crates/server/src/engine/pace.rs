//! How fast jobs run and Redis answers, measured: it decides how many jobs to take ahead, and
//! which classes may be polled in place.

use std::time::Duration;

/// The most jobs taken ahead of the free slots. With 200, worker and Redis wait for each other (217 k jobs/s in
/// a drain, 277 k with 400); 500 brings no more. What is taken ahead is to be recovered after a crash.
const SURPLUS_LIMIT: usize = 400;

/// Weight of a new measurement in the running averages.
const WEIGHT: f64 = 0.05;

/// A measurement that exceeds the average by this factor counts half, so that a change from
/// short to long jobs is noticed at once.
const OUTLIER: f64 = 8.0;

/// Running averages of a run's and a round trip's length.
#[derive(Debug)]
pub(crate) struct Pace {
    run: f64,
    round_trip: f64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        // Until measured: jobs of a millisecond, for which nothing is taken ahead.
        Self { run: 1e-3, round_trip: 200e-6 }
    }

    pub(crate) fn ran(&mut self, took: Duration) {
        self.run = blend(self.run, took.as_secs_f64());
    }

    pub(crate) fn answered(&mut self, took: Duration) {
        self.round_trip = blend(self.round_trip, took.as_secs_f64());
    }

    /// As many jobs as `slots` finish during one round trip: 0 for jobs of a millisecond or more.
    pub(crate) fn surplus(&self, slots: usize) -> usize {
        let finished = slots as f64 * self.round_trip / self.run.max(1e-7);
        (finished as usize).min(SURPLUS_LIMIT)
    }
}

fn blend(average: f64, measured: f64) -> f64 {
    let weight = if measured > average * OUTLIER { 0.5 } else { WEIGHT };
    average + (measured - average) * weight
}

/// Whether jobs of one class may be polled on the engine's own thread, which saves a task and
/// two thread switches. Only classes that keep proving quick are.
#[derive(Debug, Default)]
pub(crate) struct ClassPace {
    quick_in_a_row: u32,
    panicked_in_place: bool,
}

impl ClassPace {
    /// A poll longer than this holds the engine up too long.
    const QUICK: Duration = Duration::from_micros(200);
    /// So many quick runs in a row prove a class quick.
    const PROOF: u32 = 8;

    pub(crate) fn may_run_in_place(&self) -> bool {
        self.quick_in_a_row >= Self::PROOF && !self.panicked_in_place
    }

    /// `longest_poll` of one run, wherever it ran.
    pub(crate) fn polled(&mut self, longest_poll: Duration) {
        if longest_poll <= Self::QUICK {
            self.quick_in_a_row = self.quick_in_a_row.saturating_add(1);
        } else {
            self.quick_in_a_row = 0;
        }
    }

    /// It may rely on a thread of the job runtime: such a class is never polled in place again.
    pub(crate) fn panicked_in_place(&mut self) {
        self.panicked_in_place = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace_of(run: Duration) -> Pace {
        let mut pace = Pace::new();
        for _ in 0..500 {
            pace.ran(run);
            pace.answered(Duration::from_micros(200));
        }
        pace
    }

    #[test]
    fn nothing_is_taken_ahead_for_jobs_of_milliseconds() {
        assert_eq!(pace_of(Duration::from_millis(5)).surplus(10), 0);
    }

    #[test]
    fn tiny_jobs_are_taken_ahead_up_to_the_limit() {
        assert_eq!(pace_of(Duration::from_micros(2)).surplus(10), SURPLUS_LIMIT);
    }

    #[test]
    fn a_few_long_jobs_end_the_surplus() {
        let mut pace = pace_of(Duration::from_micros(2));
        for _ in 0..3 {
            pace.ran(Duration::from_millis(50));
        }
        assert_eq!(pace.surplus(10), 0);
    }

    #[test]
    fn a_class_earns_running_in_place_and_loses_it_by_one_long_poll() {
        let mut class = ClassPace::default();
        for _ in 0..ClassPace::PROOF {
            assert!(!class.may_run_in_place());
            class.polled(Duration::from_micros(5));
        }
        assert!(class.may_run_in_place());
        class.polled(Duration::from_millis(2));
        assert!(!class.may_run_in_place());
    }
}
