//! A world without processes, whose clock the test moves.

use std::collections::BTreeMap;

use super::super::*;
use super::SECOND;

/// What became of the commands: a world without processes.
pub(super) struct World {
    pub(super) supervisor: Supervisor,
    pub(super) now: Time,
    pub(super) alive: BTreeMap<WorkerId, Seen>,
    pub(super) notes: Vec<Note>,
    pub(super) status: Status,
    pub(super) exits: Vec<bool>,
    pub(super) told: Vec<(WorkerId, String)>,
    pub(super) stopped: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) place: usize,
    pub(super) quiet: bool,
    pub(super) ready: bool,
    pub(super) term_at: Option<Time>,
    pub(super) signals: Vec<Signal>,
}

impl World {
    pub(super) fn new(count: usize, phased: bool) -> Self {
        let rules = Rules {
            count,
            phased,
            boot_limit: SECOND * 300,
            stop_grace: SECOND * 35,
            memory_limit_kb: Some(1000),
        };
        let mut world = Self {
            supervisor: Supervisor::new(rules),
            now: Time::ZERO,
            alive: BTreeMap::new(),
            notes: Vec::new(),
            status: Status::default(),
            exits: Vec::new(),
            told: Vec::new(),
            stopped: false,
        };
        world.happens(Event::Tick);
        world
    }

    /// All ready.
    pub(super) fn ready(count: usize, phased: bool) -> Self {
        let mut world = Self::new(count, phased);
        world.all_get_ready();
        world
    }

    pub(super) fn all_get_ready(&mut self) {
        let starting: Vec<_> =
            self.alive.iter().filter(|(_, it)| !it.ready && it.term_at.is_none()).map(|it| *it.0).collect();
        starting.into_iter().for_each(|worker| self.gets_ready(worker));
    }

    pub(super) fn gets_ready(&mut self, worker: WorkerId) {
        if let Some(seen) = self.alive.get_mut(&worker) {
            seen.ready = true;
        }
        self.happens(Event::Ready { worker });
    }

    pub(super) fn ends(&mut self, worker: WorkerId, end: End) {
        self.alive.remove(&worker);
        self.happens(Event::Ended { worker, end });
    }

    /// Those that were told to stop do.
    pub(super) fn leavers_end(&mut self) {
        let leaving: Vec<_> =
            self.alive.iter().filter(|(_, it)| it.term_at.is_some()).map(|it| *it.0).collect();
        leaving.into_iter().for_each(|worker| self.ends(worker, End::Clean));
    }

    pub(super) fn passes(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(due) = self.supervisor.next_wake().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.happens(Event::Tick);
        }
        self.now = until;
    }

    pub(super) fn asked(&mut self, request: Request) {
        self.stopped |= matches!(request, Request::Stop(_));
        self.happens(Event::Request(request));
    }

    pub(super) fn happens(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for command in self.supervisor.handle(self.now, event) {
                match command {
                    Command::Spawn { worker, place, quiet } => {
                        assert!(!self.stopped, "started after the stop");
                        assert!(
                            worker.0 as usize > self.alive.keys().map(|id| id.0 as usize).max().unwrap_or(0)
                        );
                        self.alive.insert(worker, Seen { place, quiet, ..Seen::default() });
                        events.push(Event::Started { worker, identity: format!("id-{}", worker.0) });
                    }
                    Command::Signal { worker, signal } => {
                        let Some(seen) = self.alive.get_mut(&worker) else {
                            panic!("{signal:?} to {worker:?}, which is gone");
                        };
                        seen.signals.push(signal);
                        match signal {
                            Signal::Term | Signal::Int => drop(seen.term_at.get_or_insert(self.now)),
                            Signal::Kill => {
                                let since = seen.term_at.expect("killed without being told to stop");
                                assert!(self.now >= since + SECOND * 35, "killed too early");
                                assert_eq!(seen.signals.iter().filter(|it| **it == Signal::Kill).count(), 1);
                            }
                            // By default these stop or end a process.
                            Signal::Tstp | Signal::Ttin | Signal::Hup => assert!(seen.ready),
                        }
                    }
                    Command::TellDead { worker, identity } => {
                        let seen = self.alive.get(&worker).expect("a dead one was told");
                        assert!(seen.ready && seen.term_at.is_none(), "told {seen:?}");
                        let dead = identity.trim_start_matches("id-").parse().map(WorkerId).unwrap();
                        assert!(!self.alive.contains_key(&dead), "{identity} lives");
                        self.told.push((worker, identity));
                    }
                    Command::Log(note) => self.notes.push(note),
                    Command::Status(status) => self.status = status,
                    Command::Exit { clean } => {
                        assert!(self.alive.is_empty());
                        self.exits.push(clean);
                    }
                }
            }
        }
    }

    pub(super) fn ids(&self) -> Vec<WorkerId> {
        self.alive.keys().copied().collect()
    }

    pub(super) fn working(&self) -> usize {
        self.alive.values().filter(|it| it.ready && it.term_at.is_none()).count()
    }

    pub(super) fn newest(&self) -> WorkerId {
        *self.alive.keys().last().expect("none lives")
    }

    pub(super) fn noted(&self, wanted: impl Fn(&Note) -> bool) -> usize {
        self.notes.iter().filter(|note| wanted(note)).count()
    }
}
