//! Workers that ended without giving their jobs back, until another one has recovered them.

use std::time::Duration;

use super::{Time, WorkerId};

/// Whoever has not recovered something by then is stuck, or works through many suspects: that two do it is safe.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);

#[derive(Debug)]
struct Entry {
    identity: String,
    /// Who was told to recover it, and until when that may take.
    assigned: Option<(WorkerId, Time)>,
    /// Who was told last: next time it is somebody else, if there is anybody.
    last: Option<WorkerId>,
}

#[derive(Debug, Default)]
pub(super) struct Dead {
    entries: Vec<Entry>,
    /// Takes turns: what one of them recovers may be what ends it.
    turn: usize,
}

impl Dead {
    pub(super) fn add(&mut self, identity: String) {
        self.entries.push(Entry { identity, assigned: None, last: None });
    }

    pub(super) fn recovered(&mut self, identity: &str) {
        self.entries.retain(|it| it.identity != identity);
    }

    /// Whoever was to recover something has ended itself.
    pub(super) fn lost(&mut self, worker: WorkerId) {
        let theirs = self.entries.iter_mut().filter(|it| it.assigned.is_some_and(|(by, _)| by == worker));
        theirs.for_each(|it| it.assigned = None);
    }

    /// Gives what nobody recovers to one of `ready`.
    pub(super) fn assign(&mut self, now: Time, ready: &[WorkerId]) -> Vec<(WorkerId, String)> {
        let late = self.entries.iter_mut().filter(|it| it.assigned.is_some_and(|(_, until)| until <= now));
        late.for_each(|it| it.assigned = None);
        let open = self.entries.iter_mut().filter(|it| it.assigned.is_none());
        let assigned = open.filter_map(|entry| {
            let turn = self.turn.checked_rem(ready.len())?;
            self.turn = self.turn.wrapping_add(1);
            let (before, after) = ready.split_at(turn);
            let mut in_turn = after.iter().chain(before).copied();
            let first = in_turn.next()?;
            let worker = if entry.last == Some(first) { in_turn.next().unwrap_or(first) } else { first };
            entry.last = Some(worker);
            entry.assigned = Some((worker, now + RECOVERY_LIMIT));
            Some((worker, entry.identity.clone()))
        });
        assigned.collect()
    }

    /// When somebody else is to be told.
    pub(super) fn next_wake(&self) -> Option<Time> {
        self.entries.iter().filter_map(|it| it.assigned).map(|(_, until)| until).min()
    }

    pub(super) fn unrecovered(&self) -> Vec<String> {
        self.entries.iter().map(|it| it.identity.clone()).collect()
    }
}
