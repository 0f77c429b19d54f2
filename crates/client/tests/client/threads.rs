//! What is shared by the tasks of a program.

use cogworker_client::history::{History, HistoryQuery};
use cogworker_client::{
    Client, ClientError, EntryFilter, JobFate, JobSet, PeriodicEntries, Queue, QueueWalk, Walk,
};

const fn crosses_threads<T: Send + Sync + 'static>() {}

/// Checked when this is compiled: the handles go into the state of a web app, the errors into boxes of any kind.
#[test]
fn handles_and_errors_cross_threads() {
    crosses_threads::<Client>();
    crosses_threads::<ClientError>();
    crosses_threads::<EntryFilter>();
    crosses_threads::<History>();
    crosses_threads::<HistoryQuery>();
    crosses_threads::<JobFate>();
    crosses_threads::<JobSet>();
    crosses_threads::<PeriodicEntries>();
    crosses_threads::<Queue>();
    crosses_threads::<QueueWalk>();
    crosses_threads::<Walk>();
}
