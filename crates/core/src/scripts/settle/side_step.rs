//! What a settlement writes beside the outcomes.

use crate::redis::RedisError;

/// What is written beside outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideStep {
    /// Records of failed attempts.
    Attempts,
    /// The running lock of a job that goes back to its queue.
    RunningLock,
    /// Statuses of jobs.
    Status,
    /// Records of runs.
    History,
    /// The counter of successful runs; what it did not take is in [`Settled::uncounted`](super::Settled::uncounted).
    Processed,
    /// The counter of failed runs; likewise.
    Failed,
    /// The counts of the hour.
    Throughput,
}

impl SideStep {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Attempts,
        Self::RunningLock,
        Self::Status,
        Self::History,
        Self::Processed,
        Self::Failed,
        Self::Throughput,
    ];

    /// What a process does in this step, for its log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attempts => "logging failed attempts, which is ignored",
            Self::RunningLock => "taking running locks again, which is ignored",
            Self::Status => "writing statuses, which is ignored",
            Self::History => "writing the history, which is ignored",
            Self::Processed => "counting successful runs, which is tried again",
            Self::Failed => "counting failed runs, which is tried again",
            Self::Throughput => "counting the runs of the hour, which is ignored",
        }
    }

    /// As the script spells it.
    fn code(self) -> &'static str {
        match self {
            Self::Attempts => "a",
            Self::RunningLock => "l",
            Self::Status => "s",
            Self::History => "h",
            Self::Processed => "p",
            Self::Failed => "f",
            Self::Throughput => "t",
        }
    }

    pub(super) fn of_code(code: &str) -> Result<Self, RedisError> {
        Self::ALL.into_iter().find(|step| step.code() == code).ok_or_else(|| RedisError::UnexpectedReply {
            expected: "the code of a step",
            found: code.to_owned(),
        })
    }
}
