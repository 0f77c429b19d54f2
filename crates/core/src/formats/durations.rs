//! How long runs took, counted by class.

use std::collections::BTreeMap;
use std::time::Duration;

/// Upper ends of the buckets, s; a run that took longer is in one more.
pub const DURATION_BOUNDS: [f64; 12] =
    [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0, 3600.0];

/// What is counted of the runs of one class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Durations {
    /// How many runs ended in each bucket: as many as [`DURATION_BOUNDS`], and those that took longer.
    pub counts: [u64; DURATION_BOUNDS.len() + 1],
    /// All of them together.
    pub sum: Duration,
}

impl Durations {
    /// How many runs there were.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The fields that count one run of `class`, and by how much each grows.
    pub(crate) fn fields_of(class: &str, took: Duration) -> [(String, u64); 2] {
        let seconds = took.as_secs_f64();
        let bucket =
            DURATION_BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(DURATION_BOUNDS.len());
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        [(format!("{bucket}:{class}"), 1), (format!("sum:{class}"), micros)]
    }

    /// Reads all classes from the fields of the hash; what is none of ours is passed over.
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
}
