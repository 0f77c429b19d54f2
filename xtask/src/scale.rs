//! `cargo xtask scale`: what one Redis pays for each process, queue and scheduled entry. The figures of
//! docs/scaling.md.

use std::time::{Duration, Instant};

use clap::Args;
use cogworker_client::Client;
use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts::{self, Beat};
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, Config, Server};
use cogworker_testing::TestRedis;

use crate::bench::ours::NoopJob;
use crate::bench::run_optimised;
use crate::bench::system::{Running, ours_command};
use crate::bench::usage::{self, RedisUsage};
use crate::demo::Outcome;

type Failure = Box<dyn std::error::Error>;

/// How long a state is watched.
const WATCHED: Duration = Duration::from_secs(15);
/// How long it is given to settle before.
const SETTLING: Duration = Duration::from_secs(5);
/// The looks for dead processes and damaged keys come so often while they are measured.
const CHECK: Duration = Duration::from_millis(200);
/// Presences that only stand there hold so long, s.
const STANDING: u64 = 3600;
/// Queues of each process.
const QUEUES: usize = 10;
const AT_ONCE: usize = 100_000;

#[derive(Args)]
pub(crate) struct Options {
    /// Registered processes
    #[arg(long, default_value_t = 1_000)]
    processes: usize,

    /// Queues that one process reads
    #[arg(long, default_value_t = 1_000)]
    queues: usize,

    /// Scheduled jobs; 10,000,000 take about 4 GB and some minutes
    #[arg(long, default_value_t = 10_000_000)]
    scheduled: usize,

    /// Set by the task itself: this program is built with optimisations
    #[arg(long, hide = true)]
    optimised: bool,
}

pub(crate) fn run(options: &Options) -> Outcome {
    if !options.optimised {
        return run_optimised();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = TestRedis::start()?;
        idle_processes(&redis, 40)?;
        registered(&redis, options.processes).await?;
        for queues in [1, 100, options.queues] {
            many_queues(&redis, queues)?;
        }
        scheduled(&redis, options.scheduled).await
    })
}

fn show(what: &str, value: f64, unit: &str) {
    println!("{what:<64} {value:>12.3} {unit}");
}

/// What real processes cost while there is nothing to do.
fn idle_processes(redis: &TestRedis, count: usize) -> Outcome {
    redis.flush()?;
    let running = (0..count).map(|_| start(redis, "idle", 0, QUEUES)).collect::<Result<Vec<_>, _>>()?;
    std::thread::sleep(SETTLING);
    let used = watch(redis)?;
    let seconds = WATCHED.as_secs_f64() * count as f64;
    show("idle process, 10 queues: Redis CPU a second", used.cpu_s / seconds * 1e6, "us");
    show("idle process, 10 queues: calls a second", used.calls / seconds, "calls");
    show(
        "idle process, 10 queues: commands a second, those in scripts too",
        used.commands / seconds,
        "commands",
    );
    let clients = redis.info("connected_clients")?.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    show("idle process, 10 queues: connections", clients / count as f64, "connections");
    running.into_iter().try_for_each(Running::end)
}

/// What heartbeats, and the looks of one process at all others, cost.
async fn registered(redis: &TestRedis, count: usize) -> Outcome {
    redis.flush()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    let queues: Vec<String> = (0..QUEUES).map(|index| format!("q{index}")).collect();
    let before = RedisUsage::now(redis)?;
    for number in 0..count {
        let identity = format!("host-{number}:{number}:{number:012x}");
        let info = format!(r#"{{"hostname":"host-{number}","pid":{number},"concurrency":10}}"#);
        let beat = Beat {
            identity: &identity,
            info,
            busy: 0,
            quiet: false,
            ttl: STANDING,
            reliable: true,
            queues: &queues,
        };
        scripts::beat(client.redis(), &beat).await?;
    }
    let used = RedisUsage::now(redis)?.since(before);
    show("heartbeat: Redis CPU", used.cpu_s / count as f64 * 1e6, "us");

    let mut config = Config::builder().redis(RedisConfig::new(&redis.url())?).build()?;
    config.timings.check = CHECK;
    let server = Server::new(config, App::new(()).job(async |_: NoopJob| {}));
    let handle = server.handle();
    let serving = tokio::spawn(server.run(std::future::pending()));
    tokio::time::sleep(SETTLING).await;
    let before = (RedisUsage::now(redis)?, usage::calls_of(redis, "time")?);
    tokio::time::sleep(WATCHED).await;
    let used = RedisUsage::now(redis)?.since(before.0);
    // Asked for once by each look of 500 processes, and by each heartbeat.
    let looks = usage::calls_of(redis, "time")? - before.1 - WATCHED.as_secs_f64() / 5.0;
    let passes = looks / count.div_ceil(scripts::BATCH_LIMIT) as f64;
    show(
        &format!("pass over {count} processes, keys looked at too: Redis CPU"),
        used.cpu_s / passes * 1e6,
        "us",
    );
    let begun = Instant::now();
    client.processes().await?;
    show(
        &format!("list of {count} processes for the web UI: time"),
        begun.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    handle.stop();
    serving.await??;
    client.close().await;
    Ok(())
}

/// What a process with many queues costs, and how fast it drains them.
fn many_queues(redis: &TestRedis, queues: usize) -> Outcome {
    redis.flush()?;
    let running = start(redis, "idle", 0, queues)?;
    std::thread::sleep(SETTLING);
    let used = watch(redis)?;
    let seconds = WATCHED.as_secs_f64();
    show(&format!("{queues} queues, idle: Redis CPU a second"), used.cpu_s / seconds * 1e6, "us");
    show(&format!("{queues} queues, idle: calls a second"), used.calls / seconds, "calls");
    show(&format!("{queues} queues, idle: memory of the process"), running.memory_mb()?, "MB");
    running.end()?;

    redis.flush()?;
    let (url, jobs) = (redis.url(), AT_ONCE.to_string());
    let filled = ours_command()?
        .args(["fill", "drain", "--redis", &url, "--mode", "safe", "--jobs", &jobs])
        .args(["--queues", &queues.to_string()])
        .status()?;
    if !filled.success() {
        return Err("fill the queues".into());
    }
    let running = start(redis, "drain", AT_ONCE, queues)?;
    let (result, _) = running.result()?;
    let rate = AT_ONCE as f64 / result["seconds"].as_f64().unwrap_or(f64::NAN);
    show(&format!("{queues} queues with {} jobs each: drained", AT_ONCE / queues), rate, "jobs/s");
    running.end()
}

/// What a large schedule costs.
async fn scheduled(redis: &TestRedis, count: usize) -> Outcome {
    redis.flush()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    let empty = usage::redis_memory(redis)?;
    let far = EpochSeconds::now().plus(Duration::from_secs(86_400));
    let push = async |count: usize| -> Result<f64, Failure> {
        let before = RedisUsage::now(redis)?;
        let job = || {
            let due = far.plus(Duration::from_secs_f64(fastrand::f64() * 86_400.0));
            NewJob::new(NoopJob::CLASS).args(NoopJob::usual()).at(due)
        };
        client.push_all((0..count).map(|_| job()).collect()).await?;
        Ok(RedisUsage::now(redis)?.since(before).cpu_s / count as f64 * 1e6)
    };
    let first = push(AT_ONCE.min(count)).await?;
    show("scheduling into an empty schedule: Redis CPU for each job", first, "us");
    let mut left = count.saturating_sub(2 * AT_ONCE);
    while left > 0 {
        let some = left.min(AT_ONCE);
        push(some).await?;
        left -= some;
    }
    let last = push(AT_ONCE.min(count)).await?;
    show(&format!("scheduling into {count} entries: Redis CPU for each job"), last, "us");
    let memory = usage::redis_memory(redis)? - empty;
    show(&format!("{count} entries: Redis memory for each"), memory / count as f64, "bytes");
    let looks = 1_000;
    let before = RedisUsage::now(redis)?;
    for _ in 0..looks {
        let schedule = client.redis().keys().schedule();
        scripts::due_jobs(
            client.redis(),
            schedule,
            EpochSeconds::now(),
            scripts::BATCH_LIMIT,
            scripts::BATCH_BYTES,
        )
        .await?;
    }
    let used = RedisUsage::now(redis)?.since(before);
    show(&format!("a look at {count} entries, none due: Redis CPU"), used.cpu_s / looks as f64 * 1e6, "us");
    client.close().await;
    let url = redis.url();
    let filled = ours_command()?
        .args(["fill", "delayed_due", "--redis", &url, "--mode", "safe", "--jobs", "10000"])
        .status()?;
    if !filled.success() {
        return Err("fill the schedule".into());
    }
    let running = start(redis, "delayed_due", 10_000, 1)?;
    let (result, _) = running.result()?;
    let seconds = result["seconds"].as_f64().unwrap_or(f64::NAN);
    show(&format!("10,000 due at once among {count}: until all were done"), seconds, "s");
    running.end()
}

fn start(redis: &TestRedis, workload: &str, jobs: usize, queues: usize) -> Result<Running, Failure> {
    let mut command = ours_command()?;
    command.args(["run", workload, "--redis", &redis.url(), "--mode", "safe"]);
    command.args(["--jobs", &jobs.to_string(), "--queues", &queues.to_string()]);
    let running = Running::start(command, false)?;
    running.expect("ready")?;
    Ok(running)
}

fn watch(redis: &TestRedis) -> Result<RedisUsage, Failure> {
    let before = RedisUsage::now(redis)?;
    std::thread::sleep(WATCHED);
    Ok(RedisUsage::now(redis)?.since(before))
}
