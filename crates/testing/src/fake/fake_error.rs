//! Why a fake could not run jobs.

use cogworker_client::ClientError;
use cogworker_core::failure::Failure;
use cogworker_core::jid::Jid;
use cogworker_server::PeriodicError;

/// What went wrong, or which job did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FakeError {
    /// No job of the class is due.
    #[error("perform a {class}: none is due, {later} {} later; `Fake::advance` moves the clock", if *.later == 1 { "is" } else { "are" })]
    EmptyQueue {
        /// The class.
        class: &'static str,
        /// How many of it are scheduled or wait for a retry.
        later: usize,
    },
    /// A job failed.
    #[error("perform {class} {jid}: {}: {}", .failure.class, .failure.message)]
    JobFailed {
        /// Its class.
        class: String,
        /// Its id.
        jid: Jid,
        /// What a worker would store of it.
        failure: Failure,
    },
    /// A job failed for good, and a hook that was told of it panicked; the other hooks were told too.
    #[error("tell of the death of {class} {jid}: a hook panicked: {}", .panic.message)]
    DeathHookPanicked {
        /// The job's class.
        class: String,
        /// Its id.
        jid: Jid,
        /// What the job died of.
        failure: Failure,
        /// What the hook said, and where: the first, if several panicked.
        panic: Failure,
    },
    /// A periodic job could not be pushed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// An entry of the application's schedule cannot be used.
    #[error(transparent)]
    Periodic(#[from] PeriodicError),
}
