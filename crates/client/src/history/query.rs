//! A search in the history.

use cogworker_core::formats::{EndedRun, RunStatus};

use super::{Column, Condition, RUNS_PER_PAGE};

/// Which way to sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// What to find in the history, in what order, and which part of it: by default the first 25, the
/// newest first.
///
/// ```
/// use cogworker_client::history::{Column, Condition, Direction, HistoryQuery};
///
/// let slow_mailers = HistoryQuery::new()
///     .all_of(Column::Class, [Condition::Contains("mailer".into())])
///     .all_of(Column::Duration, [Condition::GreaterThan(1000.0)]) // milliseconds
///     .sort(Column::Duration, Direction::Descending)
///     .range(0, 50);
/// ```
#[derive(Debug, Clone)]
pub struct HistoryQuery {
    pub(super) status: Option<RunStatus>,
    pub(super) jid: Option<String>,
    newest: Option<u64>,
    /// In lower case.
    text: Option<String>,
    args_are_hidden: bool,
    filters: Vec<Filter>,
    order: Vec<(Column, Direction)>,
    pub(super) start: u64,
    pub(super) count: u64,
}

#[derive(Debug, Clone)]
struct Filter {
    column: Column,
    conditions: Vec<Condition>,
    all: bool,
}

impl Default for HistoryQuery {
    fn default() -> Self {
        Self {
            status: None,
            jid: None,
            newest: None,
            text: None,
            args_are_hidden: false,
            filters: Vec::new(),
            order: Vec::new(),
            start: 0,
            count: 25,
        }
    }
}

impl HistoryQuery {
    /// Every run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only runs that ended so.
    #[must_use]
    pub fn status(mut self, status: RunStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Only runs of this job.
    #[must_use]
    pub fn jid(mut self, jid: impl AsRef<str>) -> Self {
        self.jid = Some(jid.as_ref().to_owned());
        self
    }

    /// Only runs that have this text in their class, jid, args or error. Case does not matter.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.text = Some(text.to_lowercase());
        self
    }

    /// Args decide about nothing: [`text`](Self::text) is not looked for in them, and conditions and orders on them
    /// are left out. For those who may not know them.
    #[must_use]
    pub fn hide_args(mut self) -> Self {
        self.args_are_hidden = true;
        self.filters.retain(|filter| filter.column != Column::Args);
        self.order.retain(|(column, _)| *column != Column::Args);
        self
    }

    /// Searches no more than the newest `records`, where that is less than a search looks at anyway.
    #[must_use]
    pub fn newest(mut self, records: u64) -> Self {
        self.newest = Some(records);
        self
    }

    /// A search's limit.
    pub(super) fn limit(&self, limit: u64) -> u64 {
        self.newest.map_or(limit, |newest| newest.min(limit))
    }

    /// Only runs that meet at least one of the conditions on `column`, besides all other filters. No condition
    /// is no filter.
    #[must_use]
    pub fn any_of(self, column: Column, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.filter(column, conditions, false)
    }

    /// Only runs that meet all of the conditions on `column`, besides all other filters.
    #[must_use]
    pub fn all_of(self, column: Column, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.filter(column, conditions, true)
    }

    fn filter(mut self, column: Column, conditions: impl IntoIterator<Item = Condition>, all: bool) -> Self {
        let conditions: Vec<Condition> = conditions.into_iter().map(Condition::folded).collect();
        let is_hidden = self.args_are_hidden && column == Column::Args;
        if !conditions.is_empty() && !is_hidden {
            self.filters.push(Filter { column, conditions, all });
        }
        self
    }

    /// In this order, and among equal ones in the order of further calls; at last the newest first.
    #[must_use]
    pub fn sort(mut self, column: Column, direction: Direction) -> Self {
        if !(self.args_are_hidden && column == Column::Args) {
            self.order.push((column, direction));
        }
        self
    }

    /// From the run at `start` on, at most `count` (up to 1,000) of those that were found.
    #[must_use]
    pub fn range(mut self, start: u64, count: u64) -> Self {
        (self.start, self.count) = (start, count.min(RUNS_PER_PAGE));
        self
    }

    /// The direction, when it asks for nothing but a page of the records in the order in which they stand.
    pub(super) fn plain_direction(&self) -> Option<Direction> {
        if self.jid.is_some() || self.text.is_some() || !self.filters.is_empty() {
            return None;
        }
        match *self.order {
            [] => Some(Direction::Descending),
            [(Column::FinishedAt, direction)] => Some(direction),
            _ => None,
        }
    }

    pub(super) fn order(&self) -> &[(Column, Direction)] {
        &self.order
    }

    pub(super) fn matches(&self, run: &EndedRun) -> bool {
        let has = |text: &String| {
            let columns = [Column::Class, Column::Jid, Column::Args, Column::Error];
            let mut columns =
                columns.iter().filter(|column| !(self.args_are_hidden && **column == Column::Args));
            columns.any(|column| column.text(run).to_lowercase().contains(text))
        };
        self.text.as_ref().is_none_or(has)
            && self.filters.iter().all(|filter| {
                let (text, number) = (filter.column.text(run).to_lowercase(), filter.column.number(run));
                let mut met = filter.conditions.iter().map(|condition| condition.is_met(&text, number));
                if filter.all { met.all(|met| met) } else { met.any(|met| met) }
            })
    }
}
