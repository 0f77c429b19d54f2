//! One typed function for each Lua script in `lua/`, of the same name.
//!
//! A script is one atomic step: it checks that the source still holds the element, writes the
//! destination first and removes the source last. Each file's header says what a repeat does.

mod count;
mod entries;
mod fetch;
mod guard;
mod history;
mod inprogress;
mod inspect;
mod key_positions;
mod listings;
mod periodic;
mod presence;
mod processes;
mod push;
mod rearrange;
mod records;
mod recover;
mod scan;
mod schedule;
mod search;
mod settle;
mod status;
mod walk;

pub use count::{FailureCount, count_failures};
pub use entries::{EntrySource, Requeue, RequeueStep, delete_entries, peek_entries, requeue_entries};
pub use fetch::{Fetched, QueueError, TakenFrom, fetch_jobs};
pub use guard::{QUARANTINE_TTL, WrongKey, quarantine_keys};
pub use history::{FoundRuns, find_runs};
pub use inprogress::{PublishedWork, StatusWrite, count_inprogress, list_inprogress, publish_work};
pub use inspect::{
    ListEnd, PAGE_LIMIT, Peeked, QueueState, Totals, list_hashes, list_members, list_queues, page_list,
    page_set, peek_list, read_totals,
};
pub use listings::{count_recoveries, list_types, unlist_queue};
pub use periodic::{
    EntryState, Fired, RunningLock, Slot, fire_slot, hold_running_locks, list_periodic, publish_schedule,
};
pub use presence::{Beat, BeatReply, beat, remove_presence};
pub use processes::{ProcessRecord, list_processes};
pub use push::{Push, Pushed, push_jobs};
pub use rearrange::{kill_entries, reschedule_entries};
pub use records::{Filed, Filing, file_records, find_standing};
pub use recover::{
    Orphan, OrphanStep, RawBurial, RawEntries, Recovered, RecoveryLimits, complete_burials,
    find_dead_processes, find_raw_burials, prune_processes, recover_jobs,
};
pub use scan::{ScanStep, scan_keys, scan_members};
pub use schedule::{DueJobs, Moved, Moves, due_jobs, move_entries, schedule_jobs};
pub use search::{FoundEntry, SearchStep, find_entry, search_entries};
pub use settle::{BatchShape, Earlier, Effect, Held, SettleBatch, Settled, SideStep, Traces, settle_jobs};
pub use status::write_status;
pub use walk::{Passed, WalkStep, walk_set};

use key_positions::KeyPositions;

/// The most jobs, entries or operations one script call takes: keeps Redis responsive, and Lua's
/// `unpack` far from its limit.
pub const BATCH_LIMIT: usize = 500;

/// The most bytes of jobs one call should carry: a slow line has carried them, there and back, long
/// before the call counts as lost. A single job may be larger.
pub const BATCH_BYTES: usize = 1 << 20;

/// What became of one element of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Done, once.
    Applied,
    /// The source does not hold the element; nothing was changed for it.
    Gone,
    /// The destination refused it; the source still holds it.
    Failed,
}

impl Step {
    /// Reads the codes a script returns, one character each.
    fn read_all(codes: &[u8]) -> Result<Vec<Step>, crate::redis::RedisError> {
        codes
            .iter()
            .map(|code| match code {
                b'1' => Ok(Step::Applied),
                b'0' => Ok(Step::Gone),
                b'e' => Ok(Step::Failed),
                other => Err(crate::redis::RedisError::UnexpectedReply {
                    expected: "the codes 1, 0 and e",
                    found: char::from(*other).to_string(),
                }),
            })
            .collect()
    }
}
