//! Working off what was queued before.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cogworker_core::redis::Call;
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, Context, HistoryLimits, JobError};
use tokio::sync::Notify;

use super::{DUE_KEY, NoopJob, Options, connect, say, start};
use crate::demo::Outcome;

/// How often a process that shares the work says how far it is.
const PACE: Duration = Duration::from_millis(2);
/// How long the last outcomes may be on their way to Redis.
const SETTLING: Duration = Duration::from_secs(10);
/// One in so many fails in `drain_fail`.
const FAILING: usize = 5;

/// Counts runs.
struct Runs {
    jobs: usize,
    first: OnceLock<Instant>,
    count: AtomicUsize,
    all_ran: Notify,
}

impl Runs {
    fn new(jobs: usize) -> Arc<Self> {
        Arc::new(Self { jobs, first: OnceLock::new(), count: AtomicUsize::new(0), all_ran: Notify::new() })
    }

    /// The number of this run, from 1.
    fn note(&self) -> usize {
        self.first.get_or_init(Instant::now);
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count == self.jobs {
            self.all_ran.notify_one();
        }
        count
    }
}

fn app(options: &Options, runs: &Arc<Runs>) -> App<Arc<Runs>> {
    let app = App::new(runs.clone());
    match options.workload.as_str() {
        "drain_fail" => app.job(async |_: NoopJob, ctx: Context<Arc<Runs>>| match ctx.state().note() {
            failing if failing % FAILING == 0 => Err(JobError::new("RuntimeError", "it was its turn")),
            _ => Ok(()),
        }),
        "drain_full" => noop(app).status(Duration::from_secs(1800)).history(HistoryLimits::default()),
        _ => noop(app),
    }
}

fn noop(app: App<Arc<Runs>>) -> App<Arc<Runs>> {
    app.job(async |_: NoopJob, ctx: Context<Arc<Runs>>| {
        ctx.state().note();
    })
}

/// From the first job's start to the last one's end.
pub(super) async fn drain(options: &Options) -> Outcome {
    let runs = Runs::new(options.jobs);
    say("ready")?;
    let serving = start(options, app(options, &runs))?;
    runs.all_ran.notified().await;
    let seconds = runs.first.get().map_or(0.0, |first| first.elapsed().as_secs_f64());
    settled(options).await?;
    say(&serde_json::json!({ "seconds": seconds, "jobs": options.jobs }).to_string())?;
    Ok(serving.await??)
}

/// From the time at which all jobs are due to the last one's end, the worker being up and idle before.
pub(super) async fn due(options: &Options) -> Outcome {
    let client = connect(options).await?;
    let due: f64 = client.redis().command("GET", Call::new().key(DUE_KEY)).await?.text()?.parse()?;
    let runs = Runs::new(options.jobs);
    say("ready")?;
    let serving = start(options, app(options, &runs))?;
    runs.all_ran.notified().await;
    let seconds = EpochSeconds::now().as_f64() - due;
    settled(options).await?;
    say(&serde_json::json!({ "seconds": seconds, "jobs": options.jobs }).to_string())?;
    Ok(serving.await??)
}

/// One of several processes: says how many jobs it has run, until it is told to end.
pub(super) async fn share(options: &Options) -> Outcome {
    let runs = Runs::new(options.jobs);
    say("ready")?;
    let mut serving = start(options, app(options, &runs))?;
    let mut told = 0;
    loop {
        tokio::select! {
            end = &mut serving => return Ok(end??),
            () = tokio::time::sleep(PACE) => {}
        }
        let count = runs.count.load(Ordering::Relaxed);
        if count != told {
            told = count;
            say(&format!("ran {count}"))?;
        }
    }
}

/// Every run must have been settled and counted: what was measured is at-least-once work.
async fn settled(options: &Options) -> Outcome {
    let client = connect(options).await?;
    let deadline = Instant::now() + SETTLING;
    loop {
        let stats = client.stats().await?;
        let counted = stats.processed.unwrap_or(0) + stats.failed.unwrap_or(0);
        if counted == options.jobs as u64 {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("settle {} jobs: Redis counts {counted}", options.jobs).into());
        }
        tokio::time::sleep(PACE).await;
    }
}
