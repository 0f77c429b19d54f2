//! `cargo xtask soak`: random load and random faults, then the books are balanced.
//!
//! Workers, pushes and Redis go through a proxy that breaks the network; processes are killed and
//! frozen, Redis is restarted. At the end every job that was pushed must be accounted for, the
//! counters must be exact, and nothing may be left in Redis that has no owner.

mod books;
mod chaos;
mod incidents;
mod ledger;
mod load;
mod retries;
mod site;
mod verdict;
pub(crate) mod worker;

use std::time::{Duration, Instant};

use clap::Args;

use crate::demo::Outcome;

#[derive(Args)]
pub(crate) struct Options {
    /// How long load and faults go on, in minutes
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Draws the same load and the same faults again
    #[arg(long)]
    seed: Option<u64>,
    /// Worker processes
    #[arg(long, default_value_t = 3)]
    workers: usize,
    /// Jobs pushed in a second
    #[arg(long, default_value_t = 300)]
    rate: u32,
    /// Prints the workers' logs at the end
    #[arg(long)]
    logs: bool,
}

impl Options {
    /// What CI runs: other faults each time, whose seed is printed.
    pub(crate) fn of_one_minute() -> Self {
        Self { minutes: 1.0, seed: None, workers: 3, rate: 300, logs: false }
    }
}

/// Why a soak could not go on; it crosses threads.
type Failed = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn run(options: &Options) -> Outcome {
    soak(options).map_err(|failed| failed as Box<dyn std::error::Error>)
}

fn soak(options: &Options) -> Result<(), Failed> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!(
        "soak: seed {seed}, {} min, {} workers, {} jobs/s",
        options.minutes, options.workers, options.rate
    );
    let site = site::Site::start(options.workers)?;
    let until = Instant::now() + Duration::from_secs_f64(options.minutes * 60.0);
    let mut chaos = chaos::Chaos::new(&site, seed);
    let pushed = std::thread::scope(|scope| {
        let pushing = scope.spawn(|| load::run(&site, seed, options.rate, until));
        let faults = chaos.run(until);
        let pushed = pushing.join().map_err(|_| "keep pushing: the load panicked")?;
        faults?;
        pushed
    })?;
    retries::drain(&site)?;
    let verdict = verdict::Verdict::draw(&site, &chaos, &pushed)?;
    if options.logs || !verdict.faults.is_empty() {
        site.print_logs();
    }
    verdict.report()
}
