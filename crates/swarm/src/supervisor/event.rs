//! What happens to a swarm.

use super::WorkerId;

/// What is asked of a swarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// TERM, INT
    Stop(Signal),
    /// TSTP
    Quiet,
    /// USR2
    Restart,
    /// TTIN, HUP
    Forward(Signal),
}

/// Signals that workers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Term,
    Int,
    Tstp,
    Ttin,
    Hup,
    Kill,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With exit code 0: as asked, or because a job ended the process.
    Clean,
    /// By a signal to stop, which it did not handle (yet).
    Signalled,
    /// In any other way.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Request(Request),
    Started {
        worker: WorkerId,
        identity: String,
    },
    NotStarted {
        worker: WorkerId,
    },
    Ready {
        worker: WorkerId,
    },
    /// It sees to what it was told of.
    Recovers {
        worker: WorkerId,
        identity: String,
    },
    Recovered {
        identity: String,
    },
    Memory {
        worker: WorkerId,
        kb: u64,
    },
    Ended {
        worker: WorkerId,
        end: End,
    },
    /// Time has passed.
    Tick,
}
