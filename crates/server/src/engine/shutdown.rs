//! The timeline of a shutdown: wait, ask, abort, give back, settle.

use std::time::{Duration, Instant};

/// How long jobs have to end after they were asked to.
const GRACE: Duration = Duration::from_secs(1);
/// How long aborted tasks have to be gone. One that holds its thread cannot be waited for.
const ABORT_LIMIT: Duration = Duration::from_secs(1);
/// How long the last settlements may take once no job runs any more.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);
/// How often the state is looked at.
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting { until: Instant },
    Asked { until: Instant },
    Aborted { until: Instant },
    Settling { until: Instant },
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShutdownStep {
    Wait,
    CancelJobs,
    AbortJobs,
    GiveBackJobs,
    /// Everything is settled.
    End,
    /// The last settlements take too long.
    GiveUp,
}

#[derive(Debug)]
pub(crate) struct Shutdown {
    phase: Phase,
}

impl Shutdown {
    /// Running jobs have `limit` to end by themselves.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { phase: Phase::Waiting { until: Instant::now() + limit } }
    }

    /// Waits no longer for running jobs. False when it did not wait for them any more.
    pub(crate) fn hurry(&mut self) -> bool {
        let waits = matches!(self.phase, Phase::Waiting { until } if until > Instant::now());
        if waits {
            self.phase = Phase::Waiting { until: Instant::now() };
        }
        waits
    }

    pub(crate) fn next_wake(&self) -> Instant {
        let until = match self.phase {
            Phase::Waiting { until } | Phase::Asked { until } => until,
            Phase::Aborted { .. } | Phase::Settling { .. } => Instant::now() + TICK,
        };
        until.max(Instant::now() + Duration::from_millis(1))
    }

    /// Moves on. `running` jobs are in slots, `tasks_gone` tells whether aborted ones have
    /// really ended, `unsettled` whether anything else is held.
    pub(crate) fn advance(&mut self, running: usize, tasks_gone: bool, unsettled: bool) -> ShutdownStep {
        let now = Instant::now();
        match self.phase {
            Phase::Settling { until } => {
                if running == 0 && !unsettled {
                    ShutdownStep::End
                } else if now >= until {
                    ShutdownStep::GiveUp
                } else {
                    ShutdownStep::Wait
                }
            }
            _ if running == 0 => {
                self.phase = Phase::Settling { until: now + SETTLE_LIMIT };
                if unsettled { ShutdownStep::Wait } else { ShutdownStep::End }
            }
            Phase::Waiting { until } if now >= until => {
                self.phase = Phase::Asked { until: now + GRACE };
                ShutdownStep::CancelJobs
            }
            Phase::Asked { until } if now >= until => {
                self.phase = Phase::Aborted { until: now + ABORT_LIMIT };
                ShutdownStep::AbortJobs
            }
            Phase::Aborted { until } if tasks_gone || now >= until => {
                self.phase = Phase::Settling { until: now + SETTLE_LIMIT };
                ShutdownStep::GiveBackJobs
            }
            _ => ShutdownStep::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_running_and_nothing_held_ends_at_once() {
        assert_eq!(Shutdown::new(Duration::from_secs(25)).advance(0, true, false), ShutdownStep::End);
    }

    #[test]
    fn jobs_past_the_limit_are_asked_before_they_are_aborted() {
        let mut shutdown = Shutdown::new(Duration::ZERO);
        assert_eq!(shutdown.advance(1, false, true), ShutdownStep::CancelJobs);
        assert_eq!(shutdown.advance(1, false, true), ShutdownStep::Wait);
        assert_eq!(
            shutdown.advance(0, true, true),
            ShutdownStep::Wait,
            "it ended by itself: only settling is left"
        );
        assert_eq!(shutdown.advance(0, true, false), ShutdownStep::End);
    }
}
