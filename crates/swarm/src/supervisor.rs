//! What a swarm does and when, without doing it: events in, commands out.
//!
//! Nothing in here knows processes, signals or clocks, so each decision can be tried without waiting. Time is what
//! the caller says; whoever obeys the commands is [`swarm`](crate::swarm).

mod backoff;
mod command;
mod dead;
mod event;
mod replacement;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use self::backoff::Backoff;
pub(crate) use self::command::{Command, Note, Status};
use self::dead::Dead;
pub(crate) use self::event::{End, Event, Request, Signal};
use self::replacement::Replacements;
use self::worker::{Leaving, Worker};

/// A moment: since some beginning.
pub(crate) type Time = Duration;

/// A worker process, from its start to its end; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerId(pub(crate) u64);

/// How a swarm behaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How many workers there are.
    pub(crate) count: usize,
    /// A restart replaces one worker at a time.
    pub(crate) phased: bool,
    /// A replacement that is not ready after so long has failed.
    pub(crate) boot_limit: Duration,
    /// A worker that was told to stop and is still there is killed after so long (SWARM-09).
    pub(crate) stop_grace: Duration,
    /// A worker above it is replaced, KiB.
    pub(crate) memory_limit_kb: Option<u64>,
}

/// The place of one worker in the swarm.
#[derive(Debug, Default)]
struct Place {
    /// The worker that counts.
    current: Option<Worker>,
    /// The one that is to take over when it is ready.
    incoming: Option<Worker>,
    backoff: Backoff,
    /// The one that has to be gone before the place is filled again.
    awaits: Option<WorkerId>,
    /// When the place, being empty, is filled again.
    respawn_at: Option<Time>,
    /// A worker above its limit is not replaced before.
    memory_rest_until: Time,
    /// How often in a row a worker was replaced soon for its memory.
    memory: Backoff,
}

/// Owner of everything that is known about the workers.
#[derive(Debug)]
pub(crate) struct Supervisor {
    rules: Rules,
    places: Vec<Place>,
    /// Told to stop, and not gone yet.
    leaving: Vec<Leaving>,
    replacements: Replacements,
    dead: Dead,
    stopping: bool,
    quiet: bool,
    /// A worker had to be killed, or failed, after the stop was asked for.
    unclean: bool,
    exited: bool,
    next_id: u64,
    status: Option<Status>,
    commands: VecDeque<Command>,
}

impl Supervisor {
    /// A swarm whose workers are all due.
    pub(crate) fn new(rules: Rules) -> Self {
        let place = |_| Place { respawn_at: Some(Time::ZERO), ..Place::default() };
        Self {
            rules,
            places: (0..rules.count).map(place).collect(),
            leaving: Vec::new(),
            replacements: Replacements::default(),
            dead: Dead::default(),
            stopping: false,
            quiet: false,
            unclean: false,
            exited: false,
            next_id: 0,
            status: None,
            commands: VecDeque::new(),
        }
    }

    /// What follows from an event.
    pub(crate) fn handle(&mut self, now: Time, event: Event) -> Vec<Command> {
        match event {
            Event::Request(request) => self.request(now, request),
            Event::Started { worker, identity } => {
                if let Some(it) = self.worker_mut(worker) {
                    it.identity = Some(identity);
                }
            }
            Event::NotStarted { worker } => self.ended(now, worker, End::Failed),
            Event::Ready { worker } => self.ready(now, worker),
            Event::Recovers { worker, identity } => self.dead.recovers(now, worker, &identity),
            Event::Recovered { identity } => self.dead.recovered(&identity),
            Event::Memory { worker, kb } => self.memory(now, worker, kb),
            Event::Ended { worker, end } => self.ended(now, worker, end),
            Event::Tick => {}
        }
        self.advance(now);
        self.commands.drain(..).collect()
    }

    /// When the next [`Event::Tick`] is due.
    pub(crate) fn next_wake(&self) -> Option<Time> {
        let respawns = self.places.iter().filter(|_| !self.stopping).filter_map(|place| place.respawn_at);
        let boots = self.places.iter().filter_map(|place| place.incoming.as_ref());
        let boots = boots.map(|incoming| incoming.started_at + self.rules.boot_limit);
        let kills = self.leaving.iter().filter(|it| !it.killed).map(|it| it.kill_at);
        let recoveries = self.dead.next_wake().filter(|_| !self.stopping);
        respawns.chain(boots).chain(kills).chain(recoveries).min()
    }

    fn request(&mut self, now: Time, request: Request) {
        match request {
            Request::Stop(signal) => self.stop(now, signal),
            Request::Quiet => {
                self.quiet = true;
                self.log(Note::Quiet);
                self.forward(Signal::Tstp);
            }
            Request::Forward(signal) => self.forward(signal),
            Request::Restart => self.restart(now),
        }
    }

    fn stop(&mut self, now: Time, signal: Signal) {
        if !self.stopping {
            self.stopping = true;
            self.replacements.abandon();
            for place in &mut self.places {
                place.respawn_at = None;
                place.awaits = None;
                for worker in place.current.take().into_iter().chain(place.incoming.take()) {
                    self.leaving.push(Leaving::new(worker, now + self.rules.stop_grace));
                }
            }
            self.log(Note::Stopping { workers: self.leaving.len() });
        }
        for leaving in &self.leaving {
            self.commands.push_back(Command::Signal { worker: leaving.worker.id, signal });
        }
    }

    fn ready(&mut self, now: Time, id: WorkerId) {
        let Some(at) = self.places.iter().position(|place| place.has(id)) else { return };
        let Some(worker) = self.worker_mut(id).filter(|it| it.ready_at.is_none()) else { return };
        worker.ready_at = Some(now);
        let missed = std::mem::take(&mut worker.missed);
        self.commands.extend(missed.into_iter().map(|signal| Command::Signal { worker: id, signal }));
        self.log(Note::Ready { worker: id, place: at });
        if let Some(incoming) = self.places[at].incoming.take_if(|incoming| incoming.id == id) {
            self.take_over(now, at, incoming);
        }
    }

    fn ended(&mut self, now: Time, id: WorkerId, end: End) {
        if let Some(index) = self.leaving.iter().position(|it| it.worker.id == id) {
            let left = self.leaving.swap_remove(index);
            let failed = match end {
                End::Clean => false,
                // Before it had begun.
                End::Signalled => left.worker.ready_at.is_some(),
                End::Failed => true,
            };
            self.unclean |= self.stopping && (left.killed || failed);
            self.log(Note::Left { worker: id, failed });
            for place in self.places.iter_mut().filter(|place| place.awaits == Some(id)) {
                place.awaits = None;
                place.respawn_at = Some(now);
            }
            self.bury(left.worker, end);
            return;
        }
        let Some(at) = self.places.iter().position(|place| place.has(id)) else { return };
        let place = &mut self.places[at];
        if let Some(incoming) = place.incoming.take_if(|incoming| incoming.id == id) {
            self.bury(incoming, end);
            self.replacement_failed(now, at, id, false);
            return;
        }
        let Some(worker) = place.current.take() else { return };
        let pause = place.backoff.failed(worker.ready_for(now));
        let failures = place.backoff.failures();
        // One that is about to take over fills the place.
        if place.incoming.is_none() {
            place.respawn_at = Some(now + pause);
        }
        let ready = worker.ready_at.is_some();
        self.log(Note::Died { worker: id, place: at, end, ready, failures, pause });
        self.bury(worker, end);
        self.restart_broke(now);
    }

    /// What a worker held that did not give it back is recovered by another one. Exit code 0 does not say that it did:
    /// a job can end its process with any code.
    fn bury(&mut self, worker: Worker, end: End) {
        let held_jobs = worker.ready_at.is_some() && end != End::Clean;
        worker.identity.into_iter().for_each(|identity| self.dead.add(identity, held_jobs));
    }

    /// What is due.
    fn advance(&mut self, now: Time) {
        self.kill_stragglers(now);
        if self.stopping {
            let gone = self.leaving.is_empty();
            if gone && !std::mem::replace(&mut self.exited, true) {
                for identity in self.dead.unrecovered() {
                    self.commands.push_back(Command::Log(Note::NoOneRecovers { identity }));
                }
                self.tell_status();
                self.commands.push_back(Command::Exit { clean: !self.unclean });
            } else if !gone {
                self.tell_status();
            }
            return;
        }
        for at in 0..self.places.len() {
            if self.places[at].respawn_at.is_some_and(|due| due <= now) {
                self.places[at].respawn_at = None;
                let worker = self.spawn(now, at);
                self.places[at].current = Some(worker);
            }
        }
        self.replace(now);
        self.tell_of_dead(now);
        self.tell_status();
    }

    fn kill_stragglers(&mut self, now: Time) {
        for index in 0..self.leaving.len() {
            let leaving = &mut self.leaving[index];
            if leaving.kill_at <= now && !leaving.killed {
                leaving.killed = true;
                let worker = leaving.worker.id;
                self.commands.push_back(Command::Signal { worker, signal: Signal::Kill });
                self.log(Note::Killed { worker });
            }
        }
    }

    fn tell_of_dead(&mut self, now: Time) {
        let ready = self.places.iter().filter_map(|place| place.current.as_ref());
        let ready: Vec<_> = ready.filter(|it| it.ready_at.is_some()).map(|it| it.id).collect();
        for (worker, identity) in self.dead.assign(now, &ready) {
            self.commands.push_back(Command::TellDead { worker, identity });
        }
    }

    fn tell_status(&mut self) {
        let ready = self.places.iter().filter_map(|place| place.current.as_ref());
        let status = Status {
            ready: ready.filter(|it| it.ready_at.is_some()).count(),
            count: self.rules.count,
            restarting: self.replacements.is_restart(),
            stopping: self.stopping,
        };
        if self.status != Some(status) {
            self.status = Some(status);
            self.commands.push_back(Command::Status(status));
        }
    }

    fn spawn(&mut self, now: Time, place: usize) -> Worker {
        self.next_id += 1;
        let worker = Worker::new(WorkerId(self.next_id), now);
        self.commands.push_back(Command::Spawn { worker: worker.id, place, quiet: self.quiet });
        worker
    }

    /// Has a worker stop: from now on it is none of the swarm's.
    fn send_away(&mut self, now: Time, worker: Worker) {
        self.commands.push_back(Command::Signal { worker: worker.id, signal: Signal::Term });
        self.leaving.push(Leaving::new(worker, now + self.rules.stop_grace));
    }

    /// Passes a signal on to everybody who can take it: by default these stop or end a process, so one that is not
    /// ready gets them when it is.
    fn forward(&mut self, signal: Signal) {
        let here =
            self.places.iter_mut().flat_map(|place| place.current.iter_mut().chain(&mut place.incoming));
        for worker in here.chain(self.leaving.iter_mut().map(|it| &mut it.worker)) {
            if worker.ready_at.is_some() {
                self.commands.push_back(Command::Signal { worker: worker.id, signal });
            } else if !worker.missed.contains(&signal) {
                worker.missed.push(signal);
            }
        }
    }

    fn worker_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        let here =
            self.places.iter_mut().flat_map(|place| place.current.iter_mut().chain(&mut place.incoming));
        here.chain(self.leaving.iter_mut().map(|it| &mut it.worker)).find(|it| it.id == id)
    }

    fn log(&mut self, note: Note) {
        self.commands.push_back(Command::Log(note));
    }
}

impl Place {
    fn has(&self, id: WorkerId) -> bool {
        self.current.iter().chain(&self.incoming).any(|worker| worker.id == id)
    }
}
