use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

/// What a peer is asked to do.
#[derive(Parser)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// What a peer is asked to do.
#[derive(Subcommand)]
pub enum Command {
    /// Put into Redis what the workload needs, and end
    Fill(Options),
    /// Run the workload and print what it took
    Run(Options),
    /// Print the job system's version
    Version,
}

/// A workload and its sizes.
#[derive(clap::Args, Clone)]
pub struct Options {
    /// What to measure
    pub workload: Workload,
    /// The URL of a Redis that was flushed before `fill`
    #[arg(long)]
    pub redis: String,
    /// How the job system is set up
    #[arg(long, default_value = "default")]
    pub mode: Mode,
    /// Number of jobs
    #[arg(long, default_value_t = 10_000)]
    pub jobs: usize,
    /// Jobs that may run at the same time
    #[arg(long, default_value_t = 10)]
    pub concurrency: usize,
    /// Number of queues
    #[arg(long, default_value_t = 1)]
    pub queues: usize,
    /// Give up so many seconds after the last job could have run [default: 850 for drains, else 60]
    #[arg(long)]
    limit: Option<u64>,
    /// The file that the jobs of `numbers` append their numbers to
    #[arg(long)]
    pub file: Option<PathBuf>,
}

impl Options {
    /// How long to wait for the last job.
    #[must_use]
    pub fn limit(&self) -> Duration {
        let drains = matches!(self.workload, Workload::Drain | Workload::DrainFail);
        Duration::from_secs(self.limit.unwrap_or(if drains { 850 } else { 60 }))
    }
}

/// How a job system is set up.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// So that a killed process loses the fewest jobs
    Safe,
    /// As it comes
    Default,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Workload {
    /// One producer awaits each push
    #[value(name = "push_1")]
    Push1,
    /// Fifty producers, each awaits its pushes
    #[value(name = "push_50")]
    Push50,
    /// The bulk API
    PushBulk,
    /// Jobs that do nothing, pushed before
    Drain,
    /// The same, and every fifth fails
    DrainFail,
    /// From a push to the start of the job, on an idle worker
    Pickup,
    /// How late delayed jobs start
    DelayedLate,
    /// Delayed jobs that are all due
    DelayedDue,
    /// A worker without work, until standard input closes
    Idle,
    /// Numbered jobs that append their numbers to a file, until standard input closes
    Numbers,
}

/// Reads the command line; on a mistake, says what it was and ends the process.
#[must_use]
pub fn command() -> Command {
    CommandLine::parse().command
}
