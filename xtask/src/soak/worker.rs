//! The worker process of a soak.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use cogworker_core::job::Job;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, JobError, Server};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use super::ledger::{End, Entry, Page};
use crate::demo::Outcome;

#[derive(Args)]
pub(crate) struct Options {
    /// Where it writes down what it runs
    #[arg(long)]
    ledger: PathBuf,
}

/// How a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Way {
    Plain,
    Panic,
}

/// Its number, how it goes, how many attempts fail before one is well, how long each takes in ms.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SoakJob(pub(crate) u64, pub(crate) Way, pub(crate) u32, pub(crate) u64);

impl Job for SoakJob {
    const CLASS: &'static str = "SoakJob";
}

/// The same on a thread that may block.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SoakBlockingJob(pub(crate) SoakJob);

impl Job for SoakBlockingJob {
    const CLASS: &'static str = "SoakBlockingJob";
}

/// How long a job may take: some are still running when a stop has reached its limit, and a second more.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(3);

/// How long a process is silent before others take its jobs over.
const SILENCE: Duration = Duration::from_secs(6);
pub(crate) const BEAT: Duration = Duration::from_millis(300);
/// Well below the lease, as it is with the default settings: one lost reply must not end it.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

/// For how long a process may run its jobs without a heartbeat: `engine/lease.rs` takes half of
/// so short a silence.
pub(crate) fn lease() -> Duration {
    SILENCE / 2
}

/// Redis's restarts and the faults take seconds: so do the periods that depend on them.
fn config() -> Result<Config, Box<dyn std::error::Error>> {
    let mut config = Config::builder()
        .redis(RedisConfig::from_env()?.with_command_timeout(COMMAND_TIMEOUT))
        .concurrency(8)
        .queue("default", 3)
        .queue("low", 1)
        .shutdown_timeout(Duration::from_millis(500))
        .orphan_threshold(SILENCE)
        .build()?;
    config.timings.beat = BEAT;
    config.timings.presence = SILENCE;
    config.timings.check = Duration::from_secs(1);
    Ok(config)
}

pub(crate) fn run(options: &Options) -> Outcome {
    let _log = cogworker_server::logging::LogOptions::new().filter("info").init()?;
    let page = Arc::new(Page::open(&options.ledger)?);
    let app = App::new(page)
        .job(|job: SoakJob, ctx: Context<Arc<Page>>| async move {
            let run = ctx.state().begin(ctx.jid().as_str(), ctx.attempt());
            if job.3 > 0 {
                tokio::time::sleep(Duration::from_millis(job.3)).await;
            }
            ended(&job, ctx.attempt(), run)
        })
        .job_blocking(|job: SoakBlockingJob, ctx: Context<Arc<Page>>| {
            let run = ctx.state().begin(ctx.jid().as_str(), ctx.attempt());
            std::thread::sleep(Duration::from_millis(job.0.3));
            ended(&job.0, ctx.attempt(), run)
        });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result: Outcome = runtime.block_on(async {
        let mut term = signal(SignalKind::terminate())?;
        let told_to_stop = async move {
            term.recv().await;
        };
        Ok(Server::new(config()?, app).run(told_to_stop).await?)
    });
    runtime.shutdown_background();
    result
}

fn ended(job: &SoakJob, attempt: u32, run: Entry<'_>) -> Result<(), JobError> {
    if attempt > job.2 {
        run.end(End::Done);
        return Ok(());
    }
    run.end(End::Failed);
    match job.1 {
        Way::Plain => Err(JobError::new("SoakError", format!("attempt {attempt} is to fail"))),
        #[expect(clippy::panic, reason = "a job that panics is a part of the load")]
        Way::Panic => panic!("attempt {attempt} is to panic"),
    }
}
