//! What a job costs that can be counted, the same on every machine: a change that makes each job
//! dearer is seen here. How fast it is, is measured by `cargo xtask bench`.
//!
//! One test, because what it counts is the whole process's.

use std::alloc::System;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cogworker_client::Client;
use cogworker_core::job::Job;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, HistoryLimits, Server};
use cogworker_testing::TestRedis;
use serde::{Deserialize, Serialize};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const JOBS: usize = 20_000;

#[derive(Clone, Serialize, Deserialize)]
struct NoopJob(String, u64, bool);

impl Job for NoopJob {
    const CLASS: &'static str = "NoopJob";
}

#[derive(Default)]
struct Runs {
    count: AtomicUsize,
    all_ran: Notify,
}

/// For one job.
#[derive(Debug, Clone, Copy)]
struct Costs {
    allocations: f64,
    /// Those inside scripts too.
    commands: f64,
    /// Calls over a connection.
    calls: f64,
    /// Both ways.
    bytes: f64,
}

impl Costs {
    /// Refuses what is above `limits`.
    fn check(self, what: &str, limits: Self) -> Result<(), String> {
        println!("{what}: {self:.2?}");
        let within = |cost: f64, limit: f64| cost <= limit;
        let all_within = within(self.allocations, limits.allocations)
            && within(self.commands, limits.commands)
            && within(self.calls, limits.calls)
            && within(self.bytes, limits.bytes);
        if all_within { Ok(()) } else { Err(format!("{what} costs {self:.2?}, above {limits:?}")) }
    }
}

/// Counts while `work` is done.
async fn count(
    redis: &TestRedis,
    work: impl Future<Output = Result<(), Box<dyn Error>>>,
) -> Result<Costs, Box<dyn Error>> {
    redis.command(&["CONFIG", "RESETSTAT"])?;
    let region = Region::new(ALLOCATOR);
    work.await?;
    let allocated = region.change();
    let number = |text: &str| text.split(',').next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let (mut commands, mut calls, mut bytes) = (0.0, 0.0, 0.0);
    for section in ["commandstats", "stats"] {
        let reply = redis.command(&["INFO", section])?;
        for (name, value) in
            reply.as_str().unwrap_or_default().lines().filter_map(|line| line.split_once(':'))
        {
            if let Some(command) = name.strip_prefix("cmdstat_") {
                let times = number(value.strip_prefix("calls=").unwrap_or_default());
                commands += times;
                if ["eval", "evalsha", "blmove", "lpush", "sadd"].contains(&command) {
                    calls += times;
                }
            } else if name.starts_with("total_net_") && name.ends_with("put_bytes") {
                bytes += number(value);
            }
        }
    }
    let jobs = JOBS as f64;
    Ok(Costs {
        allocations: (allocated.allocations + allocated.reallocations) as f64 / jobs,
        commands: commands / jobs,
        calls: calls / jobs,
        bytes: bytes / jobs,
    })
}

async fn drain(redis: &TestRedis, app: App<Arc<Runs>>, runs: Arc<Runs>) -> Result<Costs, Box<dyn Error>> {
    let config = Config::builder().redis(RedisConfig::new(&redis.url())?).concurrency(10).build()?;
    let server = Server::new(config, app);
    let handle = server.handle();
    let costs = count(redis, async {
        let serving = tokio::spawn(server.run(std::future::pending()));
        runs.all_ran.notified().await;
        handle.stop();
        Ok(serving.await??)
    })
    .await?;
    let processed = redis.command(&["GET", "cogworker:stats:processed"])?;
    assert_eq!(processed.as_str(), Some(JOBS.to_string().as_str()), "every run is settled");
    Ok(costs)
}

fn app(runs: &Arc<Runs>) -> App<Arc<Runs>> {
    App::new(runs.clone()).job(async |_: NoopJob, ctx: Context<Arc<Runs>>| {
        if ctx.state().count.fetch_add(1, Ordering::Relaxed) + 1 == JOBS {
            ctx.state().all_ran.notify_one();
        }
    })
}

/// The limits are a quarter above what was counted when they were set; those of commands and calls
/// more, because a slow machine makes smaller batches.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_job_costs_no_more_allocations_commands_calls_and_bytes_than_it_did() -> Result<(), Box<dyn Error>>
{
    let redis = TestRedis::start()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    let jobs = vec![NoopJob("a string of some length".into(), 12_345, true); JOBS];

    let pushed = count(&redis, async {
        client.push_bulk(&jobs).await?;
        Ok(())
    });
    pushed
        .await?
        .check("a push in bulk", Costs { allocations: 25.0, commands: 0.005, calls: 0.005, bytes: 250.0 })?;

    let runs = Arc::new(Runs::default());
    drain(&redis, app(&runs), runs.clone())
        .await?
        .check("a run", Costs { allocations: 10.5, commands: 0.3, calls: 0.1, bytes: 580.0 })?;

    redis.flush()?;
    client.push_bulk(&jobs).await?;
    let runs = Arc::new(Runs::default());
    let full = app(&runs).status(std::time::Duration::from_secs(1800)).history(HistoryLimits::default());
    drain(&redis, full, runs.clone()).await?.check(
        "a run with status and history",
        Costs { allocations: 44.0, commands: 2.8, calls: 0.1, bytes: 950.0 },
    )?;
    Ok(())
}
