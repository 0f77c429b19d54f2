//! Workers that ended without giving their jobs back, until another one has recovered them.

use super::WorkerId;

#[derive(Debug)]
struct Entry {
    identity: String,
    /// Who was told to recover it.
    assigned: Option<WorkerId>,
}

#[derive(Debug, Default)]
pub(super) struct Dead {
    entries: Vec<Entry>,
    /// Takes turns: what one of them recovers may be what ends it.
    turn: usize,
}

impl Dead {
    pub(super) fn add(&mut self, identity: String) {
        self.entries.push(Entry { identity, assigned: None });
    }

    pub(super) fn recovered(&mut self, worker: WorkerId, identity: &str) {
        self.entries.retain(|it| it.identity != identity || it.assigned != Some(worker));
    }

    /// Whoever was to recover something has ended itself.
    pub(super) fn lost(&mut self, worker: WorkerId) {
        self.entries.iter_mut().filter(|it| it.assigned == Some(worker)).for_each(|it| it.assigned = None);
    }

    /// Gives what nobody recovers to one of `ready`.
    pub(super) fn assign(&mut self, ready: &[WorkerId]) -> Vec<(WorkerId, String)> {
        let open = self.entries.iter_mut().filter(|it| it.assigned.is_none());
        open.filter_map(|entry| {
            let worker = *ready.get(self.turn.checked_rem(ready.len())?)?;
            self.turn = self.turn.wrapping_add(1);
            entry.assigned = Some(worker);
            Some((worker, entry.identity.clone()))
        })
        .collect()
    }

    pub(super) fn unrecovered(&self) -> Vec<String> {
        self.entries.iter().map(|it| it.identity.clone()).collect()
    }
}
