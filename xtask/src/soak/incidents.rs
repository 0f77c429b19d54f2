//! What was done to the workers and to Redis, and from when until when.

use std::fmt;

/// A fault that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    WorkerKilled,
    WorkerFrozen,
    WorkerRestarted,
    WorkerQuieted,
    QueuePaused,
    RedisRestarted,
    RedisKilled,
    RedisFrozen,
    ConnectionsCut,
    ConnectionsKilled,
    RepliesSwallowed,
    NetworkDead,
    ReplyLost,
    ScriptsFlushed,
}

impl Kind {
    /// Whether no worker can reach Redis while it lasts.
    pub(super) fn is_outage(self) -> bool {
        matches!(
            self,
            Self::RedisRestarted
                | Self::RedisKilled
                | Self::RedisFrozen
                | Self::RepliesSwallowed
                | Self::NetworkDead
        )
    }

    /// Whether what was under way may have to be sent again, over a new connection.
    pub(super) fn breaks_connections(self) -> bool {
        self.is_outage() || matches!(self, Self::ConnectionsCut | Self::ConnectionsKilled | Self::ReplyLost)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WorkerKilled => "worker killed (-9)",
            Self::WorkerFrozen => "worker frozen",
            Self::WorkerRestarted => "worker restarted",
            Self::WorkerQuieted => "worker quieted",
            Self::QueuePaused => "queue paused",
            Self::RedisRestarted => "redis restarted",
            Self::RedisKilled => "redis killed (-9)",
            Self::RedisFrozen => "redis frozen",
            Self::ConnectionsCut => "connections cut",
            Self::ConnectionsKilled => "connections killed",
            Self::RepliesSwallowed => "replies swallowed",
            Self::NetworkDead => "network dead",
            Self::ReplyLost => "one reply lost",
            Self::ScriptsFlushed => "scripts flushed",
        })
    }
}

/// One fault that was played.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incident {
    pub(crate) kind: Kind,
    /// The process it befell; `None` when it befell all.
    pub(crate) pid: Option<u32>,
    pub(crate) from_ms: u64,
    /// When it was lifted.
    pub(crate) until_ms: u64,
}

impl Incident {
    pub(super) fn befell(&self, pid: u32) -> bool {
        self.pid.is_none_or(|it| it == pid)
    }

    pub(super) fn overlaps(&self, from_ms: u64, until_ms: u64) -> bool {
        self.from_ms <= until_ms && from_ms <= self.until_ms
    }

    pub(super) fn length_ms(&self) -> u64 {
        self.until_ms.saturating_sub(self.from_ms)
    }
}
