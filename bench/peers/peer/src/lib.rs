//! What the Rust peers have in common: the command line, the lines they print, and the clocks inside a job's handler.
//!
//! The protocol is described in `bench/peers/README.md`.

mod command_line;
mod locked;
mod meter;
mod protocol;

pub use command_line::{Command, Mode, Options, Workload, command};
pub use locked::locked_version;
pub use meter::{Meter, percentiles};
pub use protocol::{ready, report, stay, unsupported};

/// What every main function returns.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The arguments of every job: a text, a number, a flag.
///
/// The number is 12345, or the job's own where a workload has to know it.
pub type JobArgs = (String, u64, bool);

/// The arguments of a job.
#[must_use]
pub fn args(number: u64) -> JobArgs {
    ("a string of some length".to_owned(), number, true)
}

/// The number in the arguments of a job that needs none of its own.
pub const NUMBER: u64 = 12_345;

/// Of every so many jobs of `drain_fail`, one fails.
pub const FAILS_EVERY: u64 = 5;

/// Producers of `push_50`.
pub const PRODUCERS: usize = 50;

/// Jobs handed to a bulk push at a time.
pub const BULK: usize = 1_000;

/// Pick-ups that are not measured.
pub const WARM_UP: usize = 20;

/// Time between two pick-ups, so that the worker is idle.
pub const PICK_UP_PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// The jobs of `delayed_late` become due within this time.
pub const DUE_WITHIN: std::time::Duration = std::time::Duration::from_secs(20);

/// How long before the first of them the jobs of `delayed_late` are scheduled.
pub const DUE_LEAD: std::time::Duration = std::time::Duration::from_secs(2);

/// The queues' names.
#[must_use]
pub fn queues(count: usize) -> Vec<String> {
    (0..count.max(1))
        .map(|number| if number == 0 { "default".to_owned() } else { format!("queue{number}") })
        .collect()
}

/// When each job of `delayed_late` is due, in seconds after the first may be; the same for every peer and every run.
#[must_use]
pub fn due_offsets(count: usize) -> Vec<f64> {
    // A linear congruential generator (Knuth's MMIX constants): the peers in other languages draw the same numbers.
    let mut state: u64 = 42;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64 * DUE_WITHIN.as_secs_f64()
        })
        .collect()
}
