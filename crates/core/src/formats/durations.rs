//! How long runs took, counted by class.

use std::collections::BTreeMap;
use std::time::Duration;

/// Upper ends of the buckets, s; a run that took longer is in one more.
pub const DURATION_BOUNDS: &[f64] =
    &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0, 3600.0];

/// One for each bound, and one for what took longer than the last.
const BUCKETS: usize = DURATION_BOUNDS.len() + 1;

/// What is counted of the runs of one class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Durations {
    counts: [u64; BUCKETS],
    /// How long all of them took together.
    pub sum: Duration,
}

/// What a share of the runs took at most, as far as buckets tell.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum RunTime {
    /// About so long.
    About(Duration),
    /// Longer than the last of the [`DURATION_BOUNDS`], which is this.
    Over(Duration),
}

impl Durations {
    /// From how many runs ended in each bucket, in the order of the [`DURATION_BOUNDS`], and how long all took
    /// together. Buckets that are left out have none; what is counted beyond the last is counted in the last.
    pub fn new(counts: &[u64], sum: Duration) -> Self {
        let mut durations = Self { counts: [0; BUCKETS], sum };
        for (bucket, count) in counts.iter().enumerate() {
            durations.counts[bucket.min(BUCKETS - 1)] += count;
        }
        durations
    }

    /// How many runs ended in each bucket: one for each of the [`DURATION_BOUNDS`], and those that took longer.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many runs there were.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How long a run took in the mean; `None` when there was none.
    pub fn mean(&self) -> Option<Duration> {
        let total = self.total();
        (total > 0).then(|| Duration::from_secs_f64(self.sum.as_secs_f64() / total as f64))
    }

    /// What `share` of the runs (0 to 1: 0.5 for the median) took at most; `None` when there was none. Runs are taken
    /// to be spread evenly over their bucket; those of a single one to take what they take in the mean.
    ///
    /// ```
    /// # use cogworker_core::formats::{Durations, RunTime};
    /// # use std::time::Duration;
    /// // Ten runs above 0.5 s, up to 1 s, and ten above that, up to 2.5 s.
    /// let durations = Durations::new(&[0, 0, 0, 0, 0, 10, 10], Duration::from_secs(25));
    /// assert_eq!(durations.quantile(0.75), Some(RunTime::About(Duration::from_millis(1750))));
    /// ```
    pub fn quantile(&self, share: f64) -> Option<RunTime> {
        let total = self.total();
        let rank = share.clamp(0.0, 1.0) * total as f64;
        let mut before = 0;
        for (bucket, count) in self.counts.iter().copied().enumerate() {
            if count == 0 || ((before + count) as f64) < rank {
                before += count;
                continue;
            }
            let Some(upper) = DURATION_BOUNDS.get(bucket).copied() else {
                break;
            };
            let lower = bucket.checked_sub(1).map_or(0.0, |below| DURATION_BOUNDS[below]);
            let seconds = if count == total {
                (self.sum.as_secs_f64() / total as f64).clamp(lower, upper)
            } else {
                lower + (upper - lower) * (rank - before as f64) / count as f64
            };
            return Some(RunTime::About(Duration::from_secs_f64(seconds)));
        }
        (total > 0)
            .then(|| RunTime::Over(Duration::from_secs_f64(DURATION_BOUNDS[DURATION_BOUNDS.len() - 1])))
    }

    /// The fields that count one run of `class`, and by how much each grows.
    #[doc(hidden)]
    pub fn fields_of(class: &str, took: Duration) -> [(String, u64); 2] {
        let seconds = took.as_secs_f64();
        let bucket =
            DURATION_BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(DURATION_BOUNDS.len());
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        [(format!("{bucket}:{class}"), 1), (format!("sum:{class}"), micros)]
    }

    /// Reads all classes from the fields of the hash; what is none of ours is passed over.
    #[doc(hidden)]
    pub fn read(fields: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, Self> {
        let mut all: BTreeMap<String, Self> = BTreeMap::new();
        for (field, value) in fields {
            let (Some((kind, class)), Ok(value)) = (field.split_once(':'), value.parse::<u64>()) else {
                continue;
            };
            match kind.parse::<usize>() {
                Ok(bucket) if bucket <= DURATION_BOUNDS.len() => {
                    all.entry(class.to_owned()).or_default().counts[bucket] = value;
                }
                _ if kind == "sum" => {
                    all.entry(class.to_owned()).or_default().sum = Duration::from_micros(value);
                }
                _ => {}
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_counted_in_the_first_bucket_that_it_fits() {
        let field = |millis| Durations::fields_of("A::B", Duration::from_millis(millis))[0].0.clone();
        assert_eq!(
            [0, 5, 6, 3_600_000, 3_600_001].map(field),
            ["0:A::B", "0:A::B", "1:A::B", "11:A::B", "12:A::B"]
        );
        assert_eq!(Durations::fields_of("A", Duration::from_millis(5))[1], ("sum:A".to_owned(), 5_000));
    }

    #[test]
    fn what_was_written_is_read_and_anything_else_passed_over() {
        let fields = [
            ("0:A::B", "2"),
            ("12:A::B", "1"),
            ("sum:A::B", "4000000"),
            ("13:C", "1"),
            ("x", "1"),
            ("1:D", "y"),
        ];
        let read = Durations::read(fields.map(|(field, value)| (field.to_owned(), value.to_owned())));
        assert_eq!(read.keys().collect::<Vec<_>>(), ["A::B"]);
        let durations = read["A::B"];
        assert_eq!((durations.total(), durations.counts[0], durations.counts[12]), (3, 2, 1));
        assert_eq!(durations.sum, Duration::from_secs(4));
    }

    #[test]
    fn counts_are_given_from_the_first_bucket_on_and_none_is_lost() {
        let durations = Durations::new(&[1, 2], Duration::from_secs(1));
        assert_eq!(durations.counts(), [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let durations = Durations::new(&[1; 20], Duration::from_secs(1));
        assert_eq!((durations.total(), durations.counts()[12]), (20, 8));
    }

    fn counted(runs: &[(u64, u32)]) -> Durations {
        let mut fields: BTreeMap<String, u64> = BTreeMap::new();
        for (millis, times) in runs {
            for (field, by) in Durations::fields_of("A", Duration::from_millis(*millis)) {
                *fields.entry(field).or_default() += by * u64::from(*times);
            }
        }
        let read = Durations::read(fields.into_iter().map(|(field, by)| (field, by.to_string())));
        read.get("A").copied().unwrap_or_default()
    }

    fn millis(durations: &Durations, share: f64) -> Option<u128> {
        match durations.quantile(share) {
            Some(RunTime::About(took)) => Some(took.as_millis()),
            _ => None,
        }
    }

    #[test]
    fn a_quantile_lies_within_the_bucket_that_its_run_fell_into() {
        let durations = counted(&[(50, 50), (400, 40), (20_000, 10)]);
        assert_eq!(millis(&durations, 0.5), Some(100), "the last of the bucket up to 0.1 s");
        assert_eq!(millis(&durations, 0.7), Some(375));
        assert_eq!(millis(&durations, 0.95), Some(20_000));
        assert_eq!(durations.mean(), Some(Duration::from_millis(2185)));
    }

    #[test]
    fn runs_of_one_bucket_take_what_they_take_in_the_mean() {
        let durations = counted(&[(8000, 3)]);
        assert_eq!((millis(&durations, 0.5), millis(&durations, 0.95)), (Some(8000), Some(8000)));
        // Whoever wrote a sum that cannot be is not believed.
        let odd = Durations::new(durations.counts(), Duration::from_secs(90_000));
        assert_eq!(millis(&odd, 0.5), Some(10_000));
    }

    #[test]
    fn what_is_beyond_the_last_bound_is_told_so_and_nothing_of_no_runs() {
        let hour = Duration::from_secs(3600);
        assert_eq!(counted(&[(4_000_000, 1)]).quantile(0.5), Some(RunTime::Over(hour)));
        assert_eq!(counted(&[(1, 9), (4_000_000, 1)]).quantile(0.95), Some(RunTime::Over(hour)));
        assert_eq!(Durations::default().quantile(0.5), None);
        assert_eq!(Durations::default().mean(), None);
    }
}
