//! How soon a job starts.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_server::{App, Context};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{NoopJob, Options, connect, queue_names, say, start};
use crate::demo::Outcome;

/// The pause before each push, so that the worker is idle.
const PAUSE: Duration = Duration::from_millis(5);
/// The first ones wait for the worker's connections.
const WARM_UP: usize = 20;
/// Delayed jobs are due at random times within so many seconds, the first a second from now.
const SPAN: f64 = 20.0;

/// A job that knows when it is due, in epoch seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DueJob(f64);

impl Job for DueJob {
    const CLASS: &'static str = "DueJob";
}

/// From just before the push to the start of the handler, on an idle worker in the same process.
pub(super) async fn pick_up(options: &Options) -> Outcome {
    let client = connect(options).await?;
    let (started, mut starts) = unbounded_channel::<Instant>();
    let note = async |_: NoopJob, ctx: Context<UnboundedSender<Instant>>| {
        let _ = ctx.state().send(Instant::now());
    };
    let serving = start(options, App::new(started).job(note))?;
    say("ready")?;
    let queues = queue_names(options);
    let mut taken = Vec::with_capacity(options.jobs);
    for index in 0..options.jobs + WARM_UP {
        tokio::time::sleep(PAUSE).await;
        let job = NewJob::new(NoopJob::CLASS).args(NoopJob::usual()).queue(&queues[index % queues.len()]);
        let pushed = Instant::now();
        client.push(job).await?;
        let start = starts.recv().await.ok_or("pick jobs up: the worker ended")?;
        if index >= WARM_UP {
            taken.push(start.duration_since(pushed).as_secs_f64() * 1000.0);
        }
    }
    say(&percentiles(taken))?;
    Ok(serving.await??)
}

/// From the due time to the start of the handler.
pub(super) async fn lateness(options: &Options) -> Outcome {
    let client = connect(options).await?;
    let (started, mut starts) = unbounded_channel::<f64>();
    let note = async |DueJob(due): DueJob, ctx: Context<UnboundedSender<f64>>| {
        let _ = ctx.state().send((epoch() - due) * 1000.0);
    };
    let serving = start(options, App::new(started).job(note))?;
    say("ready")?;
    let begin = epoch() + 1.0;
    for _ in 0..options.jobs {
        let due = begin + fastrand::f64() * SPAN;
        let at = UNIX_EPOCH + Duration::from_secs_f64(due);
        client.perform_at(at, &DueJob(due)).await?;
    }
    let mut late = Vec::with_capacity(options.jobs);
    while late.len() < options.jobs {
        late.push(starts.recv().await.ok_or("run delayed jobs: the worker ended")?);
    }
    say(&percentiles(late))?;
    Ok(serving.await??)
}

fn epoch() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn percentiles(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values.get((values.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
    serde_json::json!({ "p50_ms": at(0.5), "p99_ms": at(0.99) }).to_string()
}
