//! Processes that lost their parent, where this one is their new parent: the first process of a container.

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use tracing::{debug, warn};

/// Clears away the dead of others. `is_own` tells the workers, which are left for whoever started them: looking comes
/// first, and whoever is looked at is not taken (P-44).
///
/// A process that is not the first one leaves this to that one: what else it started is not known here.
pub(crate) fn reap(is_own: impl Fn(u32) -> bool) {
    if std::process::id() != 1 {
        return;
    }
    loop {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let pid = match waitid(Id::All, look) {
            Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) => pid,
            Ok(_) | Err(Errno::ECHILD) => return,
            Err(Errno::EINTR) => continue,
            Err(error) => return warn!("could not look for processes without a parent: {error}"),
        };
        // A worker that ended just now: there is another SIGCHLD for it.
        if is_own(pid.as_raw().cast_unsigned()) {
            return;
        }
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(_) => debug!("cleared away process {pid}, which had lost its parent"),
            Err(error) => return warn!("could not clear away process {pid}: {error}"),
        }
    }
}
