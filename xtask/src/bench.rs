//! Measures what a user waits for: pushing, draining, picking up, being on time; of ours, and with
//! `--peers` of other systems in the same run.

pub(crate) mod ours;
mod peers;
mod plot;
mod report;
pub(crate) mod system;
pub(crate) mod usage;
mod workload;

use std::path::PathBuf;

use clap::Args;
use cogworker_testing::TestRedis;

use crate::demo::Outcome;
use crate::step::Step;
use crate::workspace::{self, executable};
use report::Report;
use system::System;
use workload::Workload;

#[derive(Args)]
pub(crate) struct Options {
    /// Also write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Where the plots go, one SVG for each metric [default: target/bench]
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,

    /// How often each workload is run, the systems taking turns; the median counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,

    /// Jobs of a drain; other workloads are sized by it
    #[arg(long, default_value_t = 100_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1_000..))]
    jobs: usize,

    /// Run only workloads whose name contains one of these, divided by commas; `drain_10m` must be named
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,

    /// Also measure other job systems, and bare Redis as the ceiling; installs them where that can be (bench/peers)
    #[arg(long)]
    peers: bool,

    /// Set by the task itself: this program is built with optimisations
    #[arg(long, hide = true)]
    optimised: bool,
}

pub(crate) fn run(options: &Options) -> Outcome {
    if !options.optimised {
        return run_optimised();
    }
    let workloads = Workload::chosen(options.jobs, &options.only)?;
    let mut report = Report::default();
    let mut systems = vec![System::ours()?];
    if options.peers {
        for peer in peers::install(&workspace::root()) {
            match peer {
                Ok(peer) => systems.push(System::from(peer)),
                Err(skipped) => report.note(format!("{} is skipped: {}", skipped.name, skipped.reason)),
            }
        }
    }
    let redis = TestRedis::start()?;
    let repeats = options.repeats.max(1);
    for repeat in 1..=repeats {
        for workload in &workloads {
            for system in &systems {
                if !workload.is_for(system, repeat) {
                    continue;
                }
                println!("{repeat}/{repeats} {} {}", workload.name, system.label());
                match system.measure(&redis, workload) {
                    Ok(measured) => report.add(system, measured),
                    Err(error) if system.is_ours => return Err(error),
                    // A peer that does not get through is told, and the others go on.
                    Err(error) => report.fail(system, workload.name, &error.to_string()),
                }
            }
        }
    }
    println!("\n{report}");
    if let Some(path) = &options.json {
        std::fs::write(path, report.to_json())?;
    }
    let folder = options.plots.clone().unwrap_or_else(|| workspace::root().join("target/bench"));
    let plots = plot::write_all(&report, &folder)?;
    println!("{plots} plots in {}", folder.display());
    Ok(())
}

/// Runs this very task by a program built with optimisations: the figures are of such code, on the pushing
/// side too.
pub(crate) fn run_optimised() -> Outcome {
    Step::cargo("build", &["build", "--release", "--package", "xtask"]).run()?;
    let mut again = std::process::Command::new(executable("release", "xtask"));
    let status = again.args(std::env::args_os().skip(1)).arg("--optimised").status()?;
    if status.success() { Ok(()) } else { Err(format!("measure: it ended with {status}").into()) }
}
