//! What a swarm does, and what it says.

use std::time::Duration;

use super::{End, Signal, WorkerId};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Spawn {
        worker: WorkerId,
        place: usize,
        quiet: bool,
    },
    Signal {
        worker: WorkerId,
        signal: Signal,
    },
    /// Has a worker recover what another one held.
    TellDead {
        worker: WorkerId,
        identity: String,
    },
    Log(Note),
    /// The swarm's state changed: for the service manager.
    Status(Status),
    /// Nothing is left to do.
    Exit {
        clean: bool,
    },
}

/// The swarm as a service manager sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Status {
    pub(crate) ready: usize,
    pub(crate) count: usize,
    pub(crate) restarting: bool,
    pub(crate) stopping: bool,
}

/// What people should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    Ready {
        worker: WorkerId,
        place: usize,
    },
    /// Its end was not asked for; the next one is started after the pause.
    Died {
        worker: WorkerId,
        place: usize,
        end: End,
        ready: bool,
        failures: u32,
        pause: Duration,
    },
    Left {
        worker: WorkerId,
        failed: bool,
    },
    Killed {
        worker: WorkerId,
    },
    RestartBegins {
        phased: bool,
    },
    /// It is asked for while one is under way, so it follows.
    RestartFollows,
    RestartOver {
        after: Duration,
    },
    /// The worker that was to replace another one did not become ready, and the other one stays.
    ReplacementFailed {
        worker: WorkerId,
        place: usize,
        late: bool,
        replaced: usize,
        kept: usize,
    },
    OverMemory {
        worker: WorkerId,
        kb: u64,
    },
    Stopping {
        workers: usize,
    },
    Quiet,
    NoOneRecovers {
        identity: String,
    },
}
