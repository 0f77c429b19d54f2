//! The small formats around a job: what a process says of itself, what runs where, what a job is doing,
//! what failed when, which runs there were, how much was done in an hour.

mod attempts;
mod durations;
mod periodic_entry;
mod process;
mod run;
mod run_record;
mod status;
mod unsettled;
mod work;

pub use attempts::{ATTEMPTS_KEPT, ATTEMPTS_TTL, AttemptOutcome, AttemptRecord};
pub use durations::{DURATION_BOUNDS, Durations, RunTime};
#[doc(hidden)]
pub use periodic_entry::{PeriodicEntry, periodic_entry_json};
pub use process::{PRESENCE_TTL, ProcessInfo};
pub use run::{EndedRun, RunStatus};
#[doc(hidden)]
pub use run_record::RunRecord;
pub use status::{JobState, Status};
#[doc(hidden)]
pub use unsettled::UnsettledRecord;
pub use work::Work;
#[doc(hidden)]
pub use work::work_json;

use std::time::Duration;

use crate::time::EpochSeconds;

/// An hour's counts are kept a little longer than the day that charts show (CNT-03).
pub const THROUGHPUT_TTL: Duration = Duration::from_secs(25 * 3600);

/// The number of the hour, as in the throughput keys (CNT-01).
#[doc(hidden)]
pub fn epoch_hour(time: EpochSeconds) -> u64 {
    (time.as_f64().max(0.0) / 3600.0) as u64
}
