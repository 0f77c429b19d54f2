//! How long the runs of a class take, where workers keep a history: read for all pages together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::formats::{Durations, RunTime};
use cogworker_core::redis::RedisError;

use crate::display;
use crate::kept::Kept;

const FRESH: Duration = Duration::from_secs(4);
/// What fewer runs took says nothing about the next.
const ENOUGH: u64 = 5;
/// When a job began is known to the second; less is nobody's worry.
const SHORTEST_LONG: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct RunTimes(Kept<BTreeMap<String, Durations>>);

impl RunTimes {
    /// By class; none where no history is kept.
    pub(crate) async fn get(&self, client: &Client) -> Result<Arc<BTreeMap<String, Durations>>, RedisError> {
        self.0.get(FRESH, client.run_durations()).await
    }
}

/// What a class usually takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Usual {
    /// Half of its runs took no longer.
    pub(crate) time: String,
    /// A run that takes longer is far over it: twice what 19 of 20 took. `None` when nobody knows that.
    far_over: Option<Duration>,
}

impl Usual {
    /// `None` when too few runs have ended.
    pub(crate) fn of(durations: &Durations) -> Option<Self> {
        if durations.total() < ENOUGH {
            return None;
        }
        let far_over = match durations.quantile(0.95)? {
            RunTime::About(most) => Some((2 * most).max(SHORTEST_LONG)),
            _ => None,
        };
        Some(Self { time: written(durations.quantile(0.5)?), far_over })
    }

    pub(crate) fn is_exceeded_by(&self, elapsed: Duration) -> bool {
        self.far_over.is_some_and(|most| elapsed > most)
    }
}

/// `1.2 s`, `over 1 h`.
pub(crate) fn written(time: RunTime) -> String {
    match time {
        RunTime::Over(bound) => format!("over {}", display::duration(bound)),
        RunTime::About(time) => display::about(time),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use cogworker_core::formats::DURATION_BOUNDS;

    use super::*;

    fn usual(counts: &[(usize, u64)], seconds: f64) -> Option<Usual> {
        let mut buckets = [0; DURATION_BOUNDS.len() + 1];
        for (bucket, count) in counts {
            buckets[*bucket] = *count;
        }
        Usual::of(&Durations::new(&buckets, Duration::from_secs_f64(seconds)))
    }

    #[test]
    fn a_run_is_far_over_the_usual_at_twice_what_19_of_20_took() {
        let usual = usual(&[(7, 100)], 800.0).unwrap();
        assert_eq!(usual.time, "8 s");
        assert!(!usual.is_exceeded_by(Duration::from_secs(16)));
        assert!(usual.is_exceeded_by(Duration::from_secs(17)));
    }

    #[test]
    fn a_class_of_quick_runs_has_two_seconds_and_one_of_hours_all_the_time() {
        let quick = usual(&[(0, 100)], 0.1).unwrap();
        assert_eq!(quick.time, "1 ms");
        assert!(
            !quick.is_exceeded_by(Duration::from_secs(2)) && quick.is_exceeded_by(Duration::from_secs(3))
        );
        let long = usual(&[(12, 100)], 1e6).unwrap();
        assert_eq!(long.time, "over 1 h");
        assert!(!long.is_exceeded_by(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn a_few_runs_say_nothing_yet() {
        assert_eq!(usual(&[(3, 4)], 1.0), None);
        assert_eq!(usual(&[], 0.0), None);
    }
}
