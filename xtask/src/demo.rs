//! The example worker at work, on a Redis of its own.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use cogworker_client::{Client, Stats};
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::Call;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;
use example_jobs::{
    FailJob, FlakyJob, GreetingJob, ImportJob, LowPriorityJob, NoopJob, PanicJob, SleepJob, SpinJob,
};
use tokio::process::{Child, Command};

use crate::step::Step;
use crate::workspace::executable;

/// What a task that does not only run commands comes to.
pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A worker that ends sooner cannot run, and another one could not either.
const SHORTEST_LIFE: Duration = Duration::from_secs(2);
/// How long `--once` waits for every job to reach its end.
const ONCE_LIMIT: Duration = Duration::from_secs(60);
/// The jobs that `--once` pushes.
const ONCE_JOBS: usize = 1000;

#[derive(Args)]
pub(crate) struct Options {
    /// Push 1,000 mixed jobs, wait until each has reached its right end, and exit
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(options: &Options) -> Outcome {
    Step::cargo("build", &["build", "--package", "example-worker", "--package", "example-web"]).run()?;
    let private = match std::env::var("REDIS_URL") {
        Ok(_) => None,
        Err(_) => Some(TestRedis::start()?),
    };
    let url = private.as_ref().map_or_else(|| std::env::var("REDIS_URL").unwrap_or_default(), TestRedis::url);
    println!("Redis: {url}{}", if private.is_some() { " (private, gone when the demo ends)" } else { "" });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let config = RedisConfig::new(&url)?;
        let client = Client::connect(&config).await?;
        let mut worker = start_worker(&url, !options.once)?;
        let outcome = if options.once {
            once(&client, &mut worker).await
        } else {
            let mut web = start_web(&url)?;
            let outcome = stream(&client, &url, &mut worker).await;
            stop(&mut web).await;
            outcome
        };
        stop(&mut worker).await;
        client.close().await;
        outcome
    })
}

/// With its log and its schedules for somebody who watches; for `--once` with nothing that is not counted.
fn start_worker(url: &str, is_watched: bool) -> Result<Child, Box<dyn std::error::Error>> {
    let program: PathBuf = executable("debug", "example-worker");
    let log = || if is_watched { Stdio::inherit() } else { Stdio::null() };
    let mut command = Command::new(program);
    if is_watched {
        command.env("EXAMPLE_SCHEDULES", "1");
    } else {
        command.env_remove("EXAMPLE_SCHEDULES");
    }
    Ok(command
        .args(["-q", "default,2", "-q", "low"])
        .env("REDIS_URL", url)
        // Ctrl-C reaches the whole group; the demo stops the worker itself, once.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log())
        .stderr(log())
        .kill_on_drop(true)
        .spawn()?)
}

/// The example app with the web UI, on the port that it takes by itself, or the next free one.
fn start_web(url: &str) -> Result<Child, Box<dyn std::error::Error>> {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (9292..9392).find(is_free).ok_or("find a free port for the web UI between 9292 and 9391")?;
    let web = Command::new(executable("debug", "example-web"))
        .env("REDIS_URL", url)
        .env("PORT", port.to_string())
        .env_remove("ADMIN_PASSWORD")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    println!("Web UI: http://127.0.0.1:{port}/admin/jobs");
    Ok(web)
}

async fn stop(program: &mut Child) {
    if let Some(pid) = program.id() {
        let _ = cogworker_testing::send_signal(pid, "TERM");
        let _ = tokio::time::timeout(Duration::from_secs(30), program.wait()).await;
    }
}

/// Pushes a few jobs a second until Ctrl-C, and shows the counters now and then.
async fn stream(client: &Client, url: &str, worker: &mut Child) -> Outcome {
    println!("Pushing jobs; Ctrl-C ends the demo.\n");
    let names = ["Ada", "Grace", "Edsger", "Barbara", "Donald"];
    let mut turn = 0usize;
    let mut started = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(400));
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {
                println!("\nStopping.");
                return Ok(());
            }
            status = worker.wait() => {
                let status = status?;
                if started.elapsed() < SHORTEST_LIFE {
                    return Err(format!("keep the worker running: it ended at once with {status}").into());
                }
                println!("-- The worker ended with {status}; the demo starts another one.");
                *worker = start_worker(url, true)?;
                started = Instant::now();
            }
            _ = ticks.tick() => {}
        }
        let name = names[turn % names.len()];
        match turn % 8 {
            0..=2 => client.perform_async(&GreetingJob(name.into())).await?,
            3 => {
                client
                    .perform_in(Duration::from_secs(3), &GreetingJob(format!("{name}, three seconds later")))
                    .await?
            }
            4 => client.perform_async(&FlakyJob(1)).await?,
            5 => client.perform_async(&LowPriorityJob()).await?,
            // Long enough to be seen at work, and to be quieted or stopped meanwhile: 2 to 8 s.
            6 if turn % 16 == 6 => {
                client.perform_async(&ImportJob(200 + 100 * (turn / 16 % 7) as u32)).await?
            }
            6 => client.perform_async(&SleepJob(2.0 + (turn / 16 % 7) as f64)).await?,
            _ => client.push(NewJob::of(&FailJob("the demo wants it so".into())).retry(false)).await?,
        };
        turn += 1;
        if turn.is_multiple_of(10) {
            let Stats { processed, failed, enqueued, scheduled, retrying, dead, .. } = client.stats().await?;
            let shown = |number: Option<u64>| number.map_or("?".into(), |number| number.to_string());
            println!(
                "-- {turn} pushed: {} processed, {} failed, {enqueued} enqueued, {} scheduled, {} retrying, {} dead",
                shown(processed),
                shown(failed),
                shown(scheduled),
                shown(retrying),
                shown(dead)
            );
        }
    }
}

/// Where a job of the demo must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Done,
    Retrying,
    Dead,
}

/// One of the mixed jobs and its right end.
fn mixed_job(index: usize, now: EpochSeconds) -> (NewJob, End) {
    match index % 20 {
        0..=5 => (NewJob::of(&GreetingJob(format!("number {index}"))), End::Done),
        6..=9 => (NewJob::of(&NoopJob(Vec::new())), End::Done),
        10 => (NewJob::of(&LowPriorityJob()), End::Done),
        11 => (NewJob::of(&SleepJob(0.05)), End::Done),
        12 => (NewJob::of(&SpinJob(0.002)), End::Done),
        13 | 14 => {
            let due = now.plus(Duration::from_millis(500 + (index as u64 % 1000)));
            (NewJob::of(&GreetingJob("late".into())).at(due), End::Done)
        }
        15 => (NewJob::of(&FlakyJob(1)), End::Retrying),
        16 => (NewJob::of(&FailJob("for good".into())).retry(false), End::Dead),
        17 => (NewJob::of(&PanicJob()).retry(0), End::Dead),
        18 => (NewJob::new("GreetingJob").args((1, 2)).retry(false), End::Dead),
        _ => (NewJob::new("NoSuchJob").retry(0), End::Dead),
    }
}

async fn once(client: &Client, worker: &mut Child) -> Outcome {
    let now = EpochSeconds::now();
    let before = client.stats().await?;
    let (jobs, ends): (Vec<NewJob>, Vec<End>) = (0..ONCE_JOBS).map(|index| mixed_job(index, now)).unzip();
    let mut expected: BTreeMap<End, u64> = BTreeMap::new();
    for end in ends {
        *expected.entry(end).or_default() += 1;
    }
    let begun = Instant::now();
    client.push_all(jobs).await?;
    println!("Pushed {ONCE_JOBS} jobs.");
    loop {
        let stats = client.stats().await?;
        let grown =
            |after: Option<u64>, before: Option<u64>| after.unwrap_or(0).saturating_sub(before.unwrap_or(0));
        let found = BTreeMap::from([
            (End::Done, grown(stats.processed, before.processed)),
            (End::Retrying, grown(stats.retrying, before.retrying)),
            (End::Dead, grown(stats.dead, before.dead)),
        ]);
        let failed = grown(stats.failed, before.failed);
        let waiting = stats.enqueued + stats.scheduled.unwrap_or(0);
        let reached =
            found == expected && failed == found[&End::Retrying] + found[&End::Dead] && waiting == 0;
        if reached && held(client).await? == 0 {
            tally(&found, failed, begun);
            return Ok(());
        }
        if begun.elapsed() > ONCE_LIMIT {
            tally(&found, failed, begun);
            return Err(
                format!("see every job at its end: expected {expected:?}, {waiting} still wait").into()
            );
        }
        if let Some(status) = worker.try_wait()? {
            return Err(format!("keep the worker running: it ended with {status}").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Jobs on the in-progress lists of live processes.
async fn held(client: &Client) -> Result<i64, Box<dyn std::error::Error>> {
    let mut held = 0;
    for process in client.processes().await? {
        let key = client.redis().keys().inprogress(&process.identity);
        held += client.redis().command("LLEN", Call::new().key(key)).await?.int()?;
    }
    Ok(held)
}

fn tally(found: &BTreeMap<End, u64>, failed: u64, begun: Instant) {
    println!(
        "{} done, {} waiting for their retry, {} dead; {failed} failed runs; {:.1} s",
        found[&End::Done],
        found[&End::Retrying],
        found[&End::Dead],
        begun.elapsed().as_secs_f64()
    );
}
