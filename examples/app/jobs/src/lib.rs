//! The example app's jobs: what the app enqueues and the worker runs.

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Defines a job type under its class name.
macro_rules! jobs {
    ($($(#[$doc:meta])* $class:literal $name:ident($($field:ty),*) $(, $option:ident($($value:expr),*))*;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Serialize, Deserialize)]
            pub struct $name($(pub $field),*);

            impl Job for $name {
                const CLASS: &'static str = $class;

                fn options() -> JobOptions {
                    JobOptions::new()$(.$option($($value),*))*
                }
            }
        )*
    };
}

jobs! {
    /// Greets somebody.
    "GreetingJob" GreetingJob(String);
    /// Fails its first n attempts.
    "FlakyJob" FlakyJob(u32);
    /// Always fails with this message.
    "FailJob" FailJob(String);
    /// Panics.
    "PanicJob" PanicJob();
    /// Takes the whole process down.
    "CrashJob" CrashJob();
    /// Sleeps for so many seconds without holding its thread.
    "SleepJob" SleepJob(f64);
    /// Computes for so many seconds on its thread.
    "SpinJob" SpinJob(f64);
    /// Imports so many rows and reports its progress.
    "ImportJob" ImportJob(u32);
    /// Belongs on the queue `low`.
    "LowPriorityJob" LowPriorityJob(), queue("low");
    /// Runs every hour.
    "HourlyCleanupJob" HourlyCleanupJob();
}

/// Does nothing with anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoopJob(pub Vec<Box<RawValue>>);

impl Job for NoopJob {
    const CLASS: &'static str = "NoopJob";
}

/// Appends the args it received, byte for byte, to the Redis list that its first one names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordJob(pub Vec<Box<RawValue>>);

impl Job for RecordJob {
    const CLASS: &'static str = "RecordJob";
}

/// Runs every day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DailyReportJob {
    /// Which part of the report.
    pub section: String,
}

impl Job for DailyReportJob {
    const CLASS: &'static str = "DailyReportJob";
}
