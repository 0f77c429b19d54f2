//! What the measurements run of this project, by the protocol that every system's program follows.

mod drains;
mod latency;
mod pushes;

use std::io::{Read, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};
use cogworker_client::Client;
use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::Call;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, Config, Server};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::demo::Outcome;

type Failure = Box<dyn std::error::Error>;

/// Jobs that are pushed in one call while a queue is filled.
const FILLED_AT_ONCE: usize = 100_000;
/// When delayed jobs are due, all at once: the worker is up by then.
const DELAY: Duration = Duration::from_secs(4);
/// Where that time is left for the run, in epoch seconds.
const DUE_KEY: &str = "bench:due";

#[derive(Args, Clone)]
pub(crate) struct Options {
    step: Step,
    workload: String,
    #[arg(long)]
    redis: String,
    /// There is one mode, which is safe
    #[arg(long)]
    mode: String,
    #[arg(long)]
    jobs: usize,
    #[arg(long, default_value_t = 10)]
    concurrency: usize,
    #[arg(long, default_value_t = 1)]
    queues: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Step {
    Fill,
    Run,
}

/// Does nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NoopJob(String, u64, bool);

impl Job for NoopJob {
    const CLASS: &'static str = "NoopJob";
}

impl NoopJob {
    pub(crate) fn usual() -> Self {
        Self("a string of some length".into(), 12_345, true)
    }
}

pub(crate) fn run(options: &Options) -> Outcome {
    // As a worker's runtime is.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let options = options.clone();
    // In a task of its own, as the handlers of a web app are.
    let running = runtime.spawn(async move {
        let options = &options;
        let outcome = match options.step {
            Step::Fill => fill(options).await,
            Step::Run => match options.workload.as_str() {
                "push_1" => pushes::one_by_one(options).await,
                "push_1_bare" => pushes::bare(options).await,
                "push_50" => pushes::concurrent(options).await,
                "push_bulk" => pushes::bulk(options).await,
                "drain" | "drain_fail" | "drain_full" => drains::drain(options).await,
                "drain_shared" => drains::share(options).await,
                "pickup" => latency::pick_up(options).await,
                "delayed_late" => latency::lateness(options).await,
                "delayed_due" => drains::due(options).await,
                "idle" => idle(options).await,
                unknown => Err(format!("measure {unknown:?}: there is no such workload").into()),
            },
        };
        outcome.map_err(|error| error.to_string())
    });
    Ok(runtime.block_on(running)??)
}

/// Puts what a workload finds into Redis.
async fn fill(options: &Options) -> Outcome {
    let delayed = match options.workload.as_str() {
        "drain" | "drain_fail" | "drain_full" | "drain_shared" => false,
        "delayed_due" => true,
        _ => return Ok(()),
    };
    let client = connect(options).await?;
    let due = EpochSeconds::now().plus(DELAY);
    let queues = queue_names(options);
    let job = |number: usize| {
        let job = NewJob::new(NoopJob::CLASS).args(NoopJob::usual()).queue(&queues[number % queues.len()]);
        if delayed { job.at(due) } else { job }
    };
    let mut left = options.jobs;
    while left > 0 {
        let count = left.min(FILLED_AT_ONCE);
        client.push_all((0..count).map(job).collect()).await?;
        left -= count;
    }
    if delayed {
        client.redis().command("SET", Call::new().key(DUE_KEY).arg(due.as_f64())).await?;
    }
    client.close().await;
    Ok(())
}

async fn connect(options: &Options) -> Result<Client, Failure> {
    Ok(Client::connect(&RedisConfig::new(&options.redis)?).await?)
}

fn queue_names(options: &Options) -> Vec<String> {
    match options.queues {
        1 => vec!["default".into()],
        count => (0..count).map(|index| format!("q{index}")).collect(),
    }
}

/// A worker in this process, with the settings that a worker has when nobody sets any.
fn start<S: Send + Sync + 'static>(
    options: &Options,
    app: App<S>,
) -> Result<JoinHandle<Result<(), cogworker_server::ServerError>>, Failure> {
    let config = Config::builder()
        .redis(RedisConfig::new(&options.redis)?)
        .queues(queue_names(options))
        .concurrency(options.concurrency)
        .build()?;
    Ok(tokio::spawn(Server::new(config, app).run(told_to_end())))
}

/// The caller tells by the end of the input.
async fn told_to_end() {
    let waiting = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _ = waiting.await;
}

async fn idle(options: &Options) -> Outcome {
    let serving = start(options, App::new(()).job(async |_: NoopJob| {}))?;
    say("ready")?;
    Ok(serving.await??)
}

/// One line to the caller.
fn say(line: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}
