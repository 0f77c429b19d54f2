//! The part of a search's finds that was asked for.

use std::cmp::Ordering;

use cogworker_core::formats::EndedRun;

use super::{Direction, HistoryQuery};

/// Takes the runs one after the other, the newest first, and keeps no more of them than the page needs.
pub(super) struct Selection<'a> {
    query: &'a HistoryQuery,
    found: u64,
    kept: Vec<(Vec<Key>, EndedRun)>,
}

/// What a run is sorted by in one column.
enum Key {
    Number(f64),
    Text(String),
}

impl<'a> Selection<'a> {
    pub(super) fn new(query: &'a HistoryQuery) -> Self {
        Self { query, found: 0, kept: Vec::new() }
    }

    pub(super) fn offer(&mut self, run: EndedRun) {
        if !self.query.matches(&run) {
            return;
        }
        self.found += 1;
        let keys = self.query.order().iter().map(|(column, _)| match column.number(&run) {
            Some(number) => Key::Number(number),
            None => Key::Text(column.text(&run).to_lowercase()),
        });
        self.kept.push((keys.collect(), run));
        // Twice the page, so that sorting costs little for each run.
        if self.kept.len() >= self.end().max(100).saturating_mul(2) {
            self.cut();
        }
    }

    /// How many runs were found, and those asked for.
    pub(super) fn finish(mut self) -> (u64, Vec<EndedRun>) {
        self.cut();
        let begin = usize::try_from(self.query.start).unwrap_or(usize::MAX);
        let runs = self.kept.into_iter().skip(begin).map(|(_, run)| run).collect();
        (self.found, runs)
    }

    fn end(&self) -> usize {
        usize::try_from(self.query.start.saturating_add(self.query.count)).unwrap_or(usize::MAX)
    }

    fn cut(&mut self) {
        let order = self.query.order();
        // Stable: what came first, the newest, stays first among equals.
        self.kept.sort_by(|(left, _), (right, _)| {
            let columns = left.iter().zip(right).zip(order);
            columns
                .map(|((left, right), (_, direction))| match direction {
                    Direction::Ascending => left.compare(right),
                    Direction::Descending => right.compare(left),
                })
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        self.kept.truncate(self.end());
    }
}

impl Key {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => left.total_cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            // One column has keys of one kind.
            _ => Ordering::Equal,
        }
    }
}
