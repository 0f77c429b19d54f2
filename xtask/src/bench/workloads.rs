//! The workloads.

use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, Server};
use cogworker_testing::{TestRedis, WorkerProcess};
use example_jobs::NoopJob;
use tokio::sync::mpsc;

use super::report::Report;
use crate::demo::Outcome;
use crate::workspace::executable;

/// Pushes in one measurement with one producer.
const PUSHES: usize = 20_000;
/// Producers of the concurrent push.
const PRODUCERS: usize = 50;
/// Pick-ups in one measurement.
const PICK_UPS: usize = 400;
/// The pause before each of them, so that the worker is idle.
const PICK_UP_PAUSE: Duration = Duration::from_millis(5);

pub(crate) async fn run_all(
    redis: &TestRedis,
    jobs: usize,
    only: Option<&str>,
    report: &mut Report,
) -> Outcome {
    let wanted = |name: &str| only.is_none_or(|part| name.contains(part));
    if wanted("push_1") {
        push_1(redis, report).await?;
    }
    if wanted("push_50") {
        push_50(redis, report).await?;
    }
    if wanted("push_bulk") {
        push_bulk(redis, jobs, report).await?;
    }
    for concurrency in [10, 50] {
        if wanted(&format!("drain_c{concurrency}")) {
            drain(redis, jobs, concurrency, report).await?;
        }
    }
    for queues in [1, 3] {
        if wanted(&format!("pickup_{queues}q")) {
            pick_up(redis, queues, report).await?;
        }
    }
    Ok(())
}

fn job() -> NewJob {
    NewJob::new("NoopJob").args(("a string of some length", 12_345, true))
}

async fn fresh_client(redis: &TestRedis) -> Result<Client, Box<dyn std::error::Error>> {
    redis.command(&["FLUSHALL"])?;
    Ok(Client::connect(&RedisConfig::new(&redis.url())?).await?)
}

async fn push_1(redis: &TestRedis, report: &mut Report) -> Outcome {
    let client = fresh_client(redis).await?;
    let begun = Instant::now();
    for _ in 0..PUSHES {
        client.push(job()).await?;
    }
    report.add("push_1", "jobs/s", PUSHES as f64 / begun.elapsed().as_secs_f64());
    client.close().await;
    Ok(())
}

async fn push_50(redis: &TestRedis, report: &mut Report) -> Outcome {
    let client = fresh_client(redis).await?;
    let each = PUSHES * 2 / PRODUCERS;
    let begun = Instant::now();
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    client.push(job()).await?;
                }
                Ok::<_, cogworker_client::ClientError>(())
            })
        })
        .collect();
    for producer in producers {
        producer.await??;
    }
    report.add("push_50", "jobs/s", (each * PRODUCERS) as f64 / begun.elapsed().as_secs_f64());
    client.close().await;
    Ok(())
}

async fn push_bulk(redis: &TestRedis, jobs: usize, report: &mut Report) -> Outcome {
    let client = fresh_client(redis).await?;
    let typed: Vec<NoopJob> = vec![NoopJob(Vec::new()); jobs];
    let begun = Instant::now();
    client.push_bulk(&typed).await?;
    report.add("push_bulk", "jobs/s", jobs as f64 / begun.elapsed().as_secs_f64());
    client.close().await;
    Ok(())
}

/// From the first job taken to the last one settled, by the counter in Redis.
async fn drain(redis: &TestRedis, jobs: usize, concurrency: usize, report: &mut Report) -> Outcome {
    let client = fresh_client(redis).await?;
    client.push_all((0..jobs).map(|_| job()).collect()).await?;
    client.close().await;
    redis.command(&["CONFIG", "RESETSTAT"])?;
    let program = executable("release", "example-worker");
    let concurrency_flag = concurrency.to_string();
    let worker = WorkerProcess::spawn(&program, &redis.url(), ["-c", &concurrency_flag])?;
    let mut counter = redis.connect()?;
    let mut begun = None;
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let done = counter
            .command(&["GET", "cogworker:stats:processed"])?
            .as_str()
            .and_then(|count| count.parse().ok())
            .unwrap_or(0i64);
        if done > 0 && begun.is_none() {
            begun = Some((Instant::now(), done));
        }
        if done >= jobs as i64 {
            break;
        }
        if Instant::now() > deadline {
            return Err(format!("drain {jobs} jobs: {done} after two minutes").into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    if let Some((begun, first)) = begun {
        let rate = (jobs as i64 - first) as f64 / begun.elapsed().as_secs_f64();
        report.add(&format!("drain_c{concurrency}"), "jobs/s", rate);
    }
    let commands = commands_of_worker(redis.command(&["INFO", "commandstats"])?.as_str().unwrap_or(""));
    report.add(&format!("cmds_per_job_c{concurrency}"), "calls", commands / jobs as f64);
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.pid())).unwrap_or_default();
    if let Some(kb) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        let kb: f64 = kb.trim().trim_end_matches(" kB").trim().parse().unwrap_or(0.0);
        report.add(&format!("load_rss_c{concurrency}"), "MB", kb / 1024.0);
    }
    worker.signal("TERM")?;
    let mut worker = worker;
    worker.wait(Duration::from_secs(10))?;
    Ok(())
}

/// Every command the server ran but the measurement's own, those inside scripts included.
fn commands_of_worker(commandstats: &str) -> f64 {
    let ours = ["cmdstat_get", "cmdstat_info", "cmdstat_config"];
    commandstats
        .lines()
        .filter(|line| !ours.iter().any(|name| line.starts_with(name)))
        .filter_map(|line| line.split_once(":calls=")?.1.split(',').next()?.parse::<f64>().ok())
        .sum()
}

/// From just before the push to the start of the handler, in one process, on an idle worker.
async fn pick_up(redis: &TestRedis, queues: usize, report: &mut Report) -> Outcome {
    let client = fresh_client(redis).await?;
    let (started, mut starts) = mpsc::unbounded_channel::<Instant>();
    let note = move |_: NoopJob, ctx: Context<mpsc::UnboundedSender<Instant>>| {
        let _ = ctx.state().send(Instant::now());
        async {}
    };
    let names: Vec<String> = (0..queues).map(|index| format!("q{index}")).collect();
    let config = Config::builder().redis(RedisConfig::new(&redis.url())?).queues(&names).build()?;
    let server = Server::new(config, App::new(started).job(note));
    let handle = server.handle();
    let serving = tokio::spawn(server.run(std::future::pending()));
    let mut taken = Vec::with_capacity(PICK_UPS);
    for index in 0..PICK_UPS + 20 {
        tokio::time::sleep(PICK_UP_PAUSE).await;
        let pushed = Instant::now();
        client.push(job().queue(&names[index % names.len()])).await?;
        let Some(start) = starts.recv().await else { return Err("pick jobs up: the worker ended".into()) };
        // The first ones wait for the worker's connections.
        if index >= 20 {
            taken.push(start.duration_since(pushed).as_secs_f64() * 1000.0);
        }
    }
    taken.sort_by(f64::total_cmp);
    report.add(&format!("pickup_{queues}q_p50"), "ms", taken[taken.len() / 2]);
    report.add(&format!("pickup_{queues}q_p99"), "ms", taken[taken.len() * 99 / 100]);
    handle.stop();
    serving.await??;
    client.close().await;
    Ok(())
}
