//! Signals by name.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use crate::wait_until;

/// How long a process may take to stand still. Normal is less than a thousandth of a second.
const FREEZE_DEADLINE: Duration = Duration::from_secs(5);

/// Why a signal was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The name is none of those a worker knows.
    #[error(
        "send signal {0:?}: no such signal; known are TERM, INT, TSTP, TTIN, HUP, QUIT, USR1, USR2, STOP, CONT, KILL"
    )]
    Unknown(String),
    /// The process is not there any more.
    #[error("send SIG{0}: the process has ended")]
    Ended(String),
    /// A process that was told to stop goes on.
    #[error("see process {0} stopped within {FREEZE_DEADLINE:?}")]
    NotStopped(u32),
    /// The system refused.
    #[error("send SIG{name} to process {pid}")]
    Refused {
        /// The signal's name.
        name: String,
        /// The process.
        pid: u32,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

/// Sends the signal called `name` (`"TERM"` or `"SIGTERM"`) to one process, such as one that a worker started.
///
/// # Errors
/// When there is no such signal or no such process, or the system refuses.
pub fn send_signal(pid: u32, name: &str) -> Result<(), SignalError> {
    let short = name.strip_prefix("SIG").unwrap_or(name);
    let signal = match short {
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "TSTP" => Signal::TSTP,
        "TTIN" => Signal::TTIN,
        "HUP" => Signal::HUP,
        "QUIT" => Signal::QUIT,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        "KILL" => Signal::KILL,
        _ => return Err(SignalError::Unknown(name.to_owned())),
    };
    let target = pid_of(pid).ok_or_else(|| SignalError::Ended(short.to_owned()))?;
    rustix::process::kill_process(target, signal).map_err(|errno| match errno {
        rustix::io::Errno::SRCH => SignalError::Ended(short.to_owned()),
        errno => SignalError::Refused { name: short.to_owned(), pid, source: errno.into() },
    })
}

/// Freezes a child process (SIGSTOP), and returns when all its threads stand still.
pub(crate) fn freeze(pid: u32) -> Result<(), SignalError> {
    send_signal(pid, "STOP")?;
    let Some(target) = pid_of(pid) else { return Ok(()) };
    // Only looks: an end of the process stays to be seen by whoever waits for it.
    let look = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let mut outcome = Ok(None);
    let changed = wait_until(FREEZE_DEADLINE, || {
        outcome = waitid(WaitId::Pid(target), look);
        !matches!(outcome, Ok(None))
    });
    match outcome {
        Ok(Some(status)) if status.stopped() => Ok(()),
        _ if changed => Err(SignalError::Ended("STOP".to_owned())),
        _ => Err(SignalError::NotStopped(pid)),
    }
}

/// Kills every process of the group that `leader` was started to lead. A group that is already empty is fine.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = pid_of(leader) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
