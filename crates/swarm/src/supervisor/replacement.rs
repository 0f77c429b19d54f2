//! Replacing workers that are well: a restart, or one that takes too much memory.
//!
//! A phased restart starts the new worker *beside* the old one, which stays until the new one is ready. So the
//! swarm is never smaller than it was, and a program that does not start replaces nobody.

use std::collections::VecDeque;
use std::time::Duration;

use super::worker::Worker;
use super::{Note, Supervisor, Time, WorkerId};

/// A worker that stays below its limit for so long has a limit that can be kept.
const MEMORY_UPTIME: Duration = Duration::from_secs(600);

/// Why a worker is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Restart,
    Memory,
}

#[derive(Debug, Default)]
pub(super) struct Replacements {
    /// Places whose turn comes.
    queue: VecDeque<(usize, Why)>,
    /// The place whose replacement is under way.
    under_way: Option<(usize, Why)>,
    /// When the restart that is under way began.
    began: Option<Time>,
    replaced: usize,
    /// What the workers that stay are if it fails.
    was_quiet: bool,
    /// Another restart was asked for meanwhile.
    again: bool,
}

impl Replacements {
    pub(super) fn is_restart(&self) -> bool {
        self.began.is_some()
    }

    pub(super) fn abandon(&mut self) {
        *self = Self::default();
    }
}

impl Supervisor {
    pub(super) fn restart(&mut self, now: Time) {
        if self.stopping {
            return;
        }
        // Asked to run new code, it is not to be quiet any longer.
        let was_quiet = std::mem::take(&mut self.quiet);
        if self.replacements.is_restart() {
            self.replacements.was_quiet |= was_quiet;
            // Only the new program is under way, which may hang: what was deployed meanwhile may be the cure.
            if !self.rules.phased && self.places.iter().all(|place| place.awaits.is_none()) {
                self.begin_restart(now);
            } else if !std::mem::replace(&mut self.replacements.again, true) {
                self.log(Note::RestartFollows);
            }
            return;
        }
        self.replacements.was_quiet = was_quiet;
        self.begin_restart(now);
    }

    fn begin_restart(&mut self, now: Time) {
        self.replacements.began = Some(now);
        self.replacements.replaced = 0;
        self.log(Note::RestartBegins { phased: self.rules.phased });
        if self.rules.phased {
            self.replacements.queue.retain(|(_, why)| *why != Why::Memory);
            self.replacements.queue.extend((0..self.places.len()).map(|at| (at, Why::Restart)));
            return;
        }
        self.replacements.queue.clear();
        for at in 0..self.places.len() {
            let place = &mut self.places[at];
            let incoming = place.incoming.take();
            // An empty place waits no longer: the new code may be the cure.
            if place.current.is_none() && place.awaits.is_none() {
                place.respawn_at = Some(now);
            }
            if let Some(incoming) = incoming {
                self.send_away(now, incoming);
            }
            let place = &mut self.places[at];
            if let Some(current) = place.current.take() {
                place.awaits = Some(current.id);
                self.send_away(now, current);
            }
        }
        self.replacements.under_way = None;
    }

    /// Goes on with what is to be replaced, one place at a time.
    pub(super) fn replace(&mut self, now: Time) {
        self.give_up_late(now);
        while self.replacements.under_way.is_none() {
            // Not ever more processes, however often a restart is asked for.
            if self.leaving.len() >= self.places.len() {
                return;
            }
            let Some((at, why)) = self.replacements.queue.pop_front() else { break };
            let place = &mut self.places[at];
            place.respawn_at = None;
            self.replacements.under_way = Some((at, why));
            let incoming = self.spawn(now, at);
            self.places[at].incoming = Some(incoming);
        }
        let filled = self.places.iter().all(|place| {
            place.awaits.is_none() && place.current.as_ref().is_some_and(|current| current.ready_at.is_some())
        });
        let over = match self.rules.phased {
            true => self.replacements.under_way.is_none() && self.replacements.queue.is_empty(),
            false => filled,
        };
        if let Some(began) = self.replacements.began.filter(|_| over) {
            self.log(Note::RestartOver { after: now.saturating_sub(began) });
            self.replacements.began = None;
            if std::mem::take(&mut self.replacements.again) {
                self.begin_restart(now);
                self.replace(now);
            }
        }
    }

    /// The new worker of a place is ready: the old one may go.
    pub(super) fn take_over(&mut self, now: Time, at: usize, incoming: Worker) {
        let place = &mut self.places[at];
        place.respawn_at = None;
        let old = place.current.replace(incoming);
        if self
            .replacements
            .under_way
            .take_if(|(place, _)| *place == at)
            .is_some_and(|(_, why)| why == Why::Restart)
        {
            self.replacements.replaced += 1;
            self.places[at].backoff = Default::default();
        }
        if let Some(old) = old {
            self.send_away(now, old);
        }
    }

    /// A restart of all at once ends where the new program fails: what follows is the pauses' affair, or that of the
    /// restart that was asked for meanwhile.
    pub(super) fn restart_broke(&mut self, now: Time) {
        if !self.rules.phased && self.replacements.is_restart() {
            self.replacements.began = None;
            if std::mem::take(&mut self.replacements.again) {
                self.begin_restart(now);
            }
        }
    }

    fn give_up_late(&mut self, now: Time) {
        let Some((at, _)) = self.replacements.under_way else { return };
        let limit = self.rules.boot_limit;
        let late = self.places[at].incoming.take_if(|incoming| incoming.started_at + limit <= now);
        if let Some(late) = late {
            let id = late.id;
            self.send_away(now, late);
            self.replacement_failed(now, at, id, true);
        }
    }

    /// The new program does not work: whoever still runs stays. A restart that was asked for meanwhile follows: its
    /// program may be another one.
    pub(super) fn replacement_failed(&mut self, now: Time, at: usize, id: WorkerId, late: bool) {
        let why = self.replacements.under_way.take().map(|(_, why)| why);
        let place = &mut self.places[at];
        let mut pause = Time::ZERO;
        if place.current.is_none() {
            pause = place.backoff.failed(None);
            place.respawn_at = Some(now + pause);
        }
        let kept = self.places.iter().filter(|place| place.current.is_some()).count();
        let replaced = self.replacements.replaced;
        self.log(Note::ReplacementFailed { worker: id, place: at, late, replaced, kept });
        let place = &mut self.places[at];
        if why == Some(Why::Memory) {
            let rest = place.memory.failed(None).max(pause);
            place.memory_rest_until = now + rest;
            return;
        }
        self.replacements.queue.clear();
        self.replacements.began = None;
        if std::mem::take(&mut self.replacements.again) {
            self.begin_restart(now);
        } else {
            self.quiet |= self.replacements.was_quiet;
        }
    }

    /// A worker that takes too much is replaced, once it was found so.
    pub(super) fn memory(&mut self, now: Time, id: WorkerId, kb: u64) {
        let over = self.rules.memory_limit_kb.is_some_and(|limit| kb > limit);
        let found = self.places.iter().position(|place| place.current.as_ref().is_some_and(|it| it.id == id));
        let Some(at) = found.filter(|_| over && !self.stopping && !self.replacements.is_restart()) else {
            return;
        };
        let queued = self.replacements.queue.iter().chain(&self.replacements.under_way).any(|it| it.0 == at);
        let place = &mut self.places[at];
        let Some(current) = place.current.as_ref().filter(|it| it.ready_at.is_some()) else { return };
        if queued || now < place.memory_rest_until {
            return;
        }
        // With a limit that no worker can keep, they must not be replaced without end.
        let lasted = current.ready_for(now).filter(|uptime| *uptime >= MEMORY_UPTIME);
        place.memory_rest_until = now + place.memory.failed(lasted);
        self.log(Note::OverMemory { worker: id, kb });
        self.replacements.queue.push_back((at, Why::Memory));
    }
}
