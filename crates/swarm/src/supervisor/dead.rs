//! Workers that ended, until another one has recovered what they may have held.

use std::time::Duration;

use super::{Time, WorkerId};

/// Whoever does not even say that it sees to it is stuck, or frozen.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// Whoever has not recovered something by then is stuck, or works through many suspects: that two do it is safe.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);

#[derive(Debug)]
struct Entry {
    identity: String,
    /// It most likely held jobs.
    held_jobs: bool,
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
    pub(super) fn add(&mut self, identity: String, held_jobs: bool) {
        self.entries.push(Entry { identity, held_jobs, assigned: None, last: None });
    }

    /// Whoever was told sees to it: that may take its time.
    pub(super) fn recovers(&mut self, now: Time, worker: WorkerId, identity: &str) {
        let theirs = |it: &&mut Entry| it.identity == identity && it.last == Some(worker);
        if let Some(entry) = self.entries.iter_mut().find(theirs) {
            entry.assigned = Some((worker, now + RECOVERY_LIMIT));
        }
    }

    pub(super) fn recovered(&mut self, identity: &str) {
        self.entries.retain(|it| it.identity != identity);
    }

    /// Gives what nobody recovers to one of `ready`. One that is told to stop recovers nothing any more, and may take
    /// long to end.
    pub(super) fn assign(&mut self, now: Time, ready: &[WorkerId]) -> Vec<(WorkerId, String)> {
        let recovers = |(by, until): (WorkerId, Time)| now < until && ready.contains(&by);
        self.entries.iter_mut().for_each(|it| it.assigned = it.assigned.filter(|to| recovers(*to)));
        let open = self.entries.iter_mut().filter(|it| it.assigned.is_none());
        let assigned = open.filter_map(|entry| {
            let turn = self.turn.checked_rem(ready.len())?;
            self.turn = self.turn.wrapping_add(1);
            let (before, after) = ready.split_at(turn);
            let mut in_turn = after.iter().chain(before).copied();
            let first = in_turn.next()?;
            let worker = if entry.last == Some(first) { in_turn.next().unwrap_or(first) } else { first };
            // Told again at once it would have to do it again and again, when it goes on.
            let limit = if entry.last == Some(worker) { RECOVERY_LIMIT } else { ANSWER_LIMIT };
            entry.last = Some(worker);
            entry.assigned = Some((worker, now + limit));
            Some((worker, entry.identity.clone()))
        });
        assigned.collect()
    }

    /// When somebody else is to be told.
    pub(super) fn next_wake(&self) -> Option<Time> {
        self.entries.iter().filter_map(|it| it.assigned).map(|(_, until)| until).min()
    }

    /// Who most likely held jobs that nobody has recovered.
    pub(super) fn unrecovered(&self) -> Vec<String> {
        self.entries.iter().filter(|it| it.held_jobs).map(|it| it.identity.clone()).collect()
    }
}
