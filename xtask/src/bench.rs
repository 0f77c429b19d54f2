//! Measures pushing, draining and picking up jobs on a private Redis.

mod report;
mod workloads;

use std::path::PathBuf;

use clap::Args;
use cogworker_testing::TestRedis;

use crate::demo::Outcome;
use crate::step::Step;
use crate::workspace::executable;
use report::Report;

#[derive(Args)]
pub(crate) struct Options {
    /// Also write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// How often each workload is run; the median counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,

    /// Jobs to drain
    #[arg(long, default_value_t = 100_000)]
    jobs: usize,

    /// Run only workloads whose name contains this
    #[arg(long)]
    only: Option<String>,

    /// Set by the task itself: this program is built with optimisations
    #[arg(long, hide = true)]
    optimised: bool,
}

pub(crate) fn run(options: &Options) -> Outcome {
    if !options.optimised {
        // The figures are of optimised code, of the pushing side too.
        Step::cargo("build", &["build", "--release", "--package", "example-worker", "--package", "xtask"])
            .run()?;
        let mut again = std::process::Command::new(executable("release", "xtask"));
        again.args(std::env::args_os().skip(1)).arg("--optimised");
        let status = again.status()?;
        return if status.success() {
            Ok(())
        } else {
            Err(format!("measure: it ended with {status}").into())
        };
    }
    let redis = TestRedis::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut report = Report::default();
    for repeat in 1..=options.repeats.max(1) {
        println!("repeat {repeat} of {}", options.repeats.max(1));
        runtime.block_on(workloads::run_all(&redis, options.jobs, options.only.as_deref(), &mut report))?;
    }
    println!("{report}");
    if let Some(path) = &options.json {
        std::fs::write(path, report.to_json())?;
    }
    Ok(())
}
