//! How long runs took, by class: all since a history is kept, whatever became of their records.

use std::collections::BTreeMap;
use std::time::Duration;

use cogworker_core::formats::Durations;

use super::query::RunsQuery;
use crate::display;
use crate::run_times::written;

/// Those of more classes are a filter away.
const MOST_CLASSES: usize = 25;

/// The classes that took the most time in all.
pub(super) struct TimeTable {
    pub(super) rows: Vec<ClassTimes>,
    /// How many classes there are that match.
    pub(super) classes: usize,
}

pub(super) struct ClassTimes {
    pub(super) class: String,
    pub(super) href: String,
    pub(super) runs: u64,
    /// Half of the runs took no longer.
    pub(super) half: String,
    /// 19 of 20 took no longer.
    pub(super) most: String,
    pub(super) mean: String,
    pub(super) in_all: String,
    /// Of the time of all classes, %.
    pub(super) share: String,
}

impl TimeTable {
    pub(super) fn new(times: &BTreeMap<String, Durations>, query: &RunsQuery) -> Self {
        let in_all: Duration = times.values().map(|durations| durations.sum).fold(Duration::ZERO, sum);
        let wanted = query.class.as_ref().map(|class| class.to_lowercase());
        let is_wanted =
            |class: &str| wanted.as_ref().is_none_or(|wanted| class.to_lowercase().contains(wanted));
        let mut classes: Vec<(&String, &Durations)> =
            times.iter().filter(|(class, durations)| durations.total() > 0 && is_wanted(class)).collect();
        classes.sort_by(|a, b| (b.1.sum, a.0).cmp(&(a.1.sum, b.0)));
        let shown = classes.iter().take(MOST_CLASSES);
        Self {
            rows: shown.filter_map(|(class, it)| ClassTimes::new(class, it, in_all, query)).collect(),
            classes: classes.len(),
        }
    }

    /// What stands beside its title.
    pub(super) fn shown(&self) -> String {
        let classes = display::counted(self.classes as u64, "class", "classes");
        match self.rows.len() {
            shown if shown < self.classes => {
                format!("{shown} of {classes}, those that took the most time; filter by class for others")
            }
            _ => format!("{classes}, all runs since a history is kept"),
        }
    }
}

impl ClassTimes {
    fn new(class: &str, durations: &Durations, in_all: Duration, query: &RunsQuery) -> Option<Self> {
        Some(Self {
            class: display::shortened(class, 120),
            href: query.of_class(class).href(),
            runs: durations.total(),
            half: written(durations.quantile(0.5)?),
            most: written(durations.quantile(0.95)?),
            mean: display::about(durations.mean()?),
            in_all: display::duration(durations.sum),
            share: format!("{:.1}", 100.0 * ratio(durations.sum, in_all)),
        })
    }
}

fn sum(a: Duration, b: Duration) -> Duration {
    a.saturating_add(b)
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Fields;

    fn times() -> BTreeMap<String, Durations> {
        let of = |counts: [u64; 2], seconds| {
            Durations::new(&[counts[0], 0, 0, 0, 0, 0, 0, counts[1]], Duration::from_secs(seconds))
        };
        let mut times: BTreeMap<String, Durations> =
            (0..30).map(|at| (format!("Many{at:02}Job"), of([1, 0], 0))).collect();
        times.insert("SlowJob".into(), of([0, 10], 75));
        times.insert("QuickJob".into(), of([100, 0], 25));
        times.insert("OddJob".into(), of([0, 0], 9));
        times
    }

    #[test]
    fn the_class_that_takes_the_most_time_comes_first_and_the_rest_is_told_of() {
        let table = TimeTable::new(&times(), &RunsQuery::default());
        let row = &table.rows[0];
        assert_eq!((row.class.as_str(), row.runs, row.half.as_str()), ("SlowJob", 10, "7.5 s"));
        assert_eq!((row.share.as_str(), table.rows[1].class.as_str()), ("68.8", "QuickJob"));
        assert_eq!(
            (table.rows.len(), table.shown().as_str()),
            (25, "25 of 32 classes, those that took the most time; filter by class for others")
        );
    }

    #[test]
    fn the_filter_by_class_is_that_of_the_runs() {
        let query = RunsQuery::new(&Fields::parse(b"class=many0"));
        let table = TimeTable::new(&times(), &query);
        assert_eq!(
            (table.rows.len(), table.rows[0].href.as_str()),
            (10, "/history?status=all&class=Many00Job")
        );
    }
}
