//! apalis with apalis-redis: jobs that a dead worker held are put back after it missed its heartbeats.

mod fill;
mod worker;

use std::time::{Duration, Instant};

use apalis::prelude::{BoxDynError, TaskSink};
use apalis_redis::{Config, RedisStorage};
use peer::{Command, JobArgs, Mode, Options, Outcome, Workload, args};
use redis::aio::ConnectionManagerConfig;

type Storage = RedisStorage<JobArgs>;

#[tokio::main]
async fn main() -> Outcome {
    match peer::command() {
        Command::Version => println!("{}", peer::locked_version("apalis-redis")),
        Command::Fill(options) => fill::run(&options).await?,
        Command::Run(options) => run(&options).await?,
    }
    Ok(())
}

/// The settings of a mode. Both put a dead worker's jobs back; `safe` is set up for throughput.
fn config(mode: Mode, queue: &str) -> Config {
    let config = Config::default().queue(queue);
    match mode {
        Mode::Default => config,
        // What its documentation says about throughput: larger batches; no events, which nobody here listens to; and no
        // leases, which do nothing for jobs shorter than a heartbeat.
        Mode::Safe => config.batch_size(100).emit_events(false).lock_tasks(false),
    }
}

/// How often an idle worker looks for jobs: the default of its versions before 1.0. Without an interval it would look
/// at its heartbeats alone, every 30 s; with one as short as a fetch (10 ms was tried) it sometimes does so too.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long an answer of Redis may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

async fn storages(options: &Options) -> Result<Vec<Storage>, Box<dyn std::error::Error>> {
    // As `apalis_redis::connect` does it, but for its limit of half a second for an answer: one that comes later, as on
    // a busy machine, ends the worker.
    let patient = ConnectionManagerConfig::new().set_response_timeout(Some(ANSWER_WITHIN));
    let client = redis::Client::open(options.redis.as_str())?;
    let redis = client.get_connection_manager_with_config(patient).await?;
    let storage = |name: &String| Storage::new(redis.clone()).with_config(config(options.mode, name));
    Ok(peer::queues(options.queues).iter().map(storage).collect())
}

async fn run(options: &Options) -> Outcome {
    let mut storages = storages(options).await?;
    let storage = &mut storages[0];
    match options.workload {
        Workload::Push1 => {
            peer::ready();
            let begun = Instant::now();
            for _ in 0..options.jobs {
                storage.push(args(peer::NUMBER)).await?;
            }
            report_pushes(begun, options.jobs);
        }
        Workload::Push50 => {
            peer::ready();
            let begun = Instant::now();
            let producers: Vec<_> = (0..peer::PRODUCERS)
                .map(|producer| {
                    let mut storage = storage.clone();
                    let jobs = (producer..options.jobs).step_by(peer::PRODUCERS).count();
                    tokio::spawn(async move {
                        for _ in 0..jobs {
                            storage.push(args(peer::NUMBER)).await?;
                        }
                        Ok::<_, BoxDynError>(())
                    })
                })
                .collect();
            for producer in producers {
                producer.await?.map_err(|error| error.to_string())?;
            }
            report_pushes(begun, options.jobs);
        }
        Workload::PushBulk => {
            peer::ready();
            let begun = Instant::now();
            for first in (0..options.jobs).step_by(peer::BULK) {
                let count = peer::BULK.min(options.jobs - first);
                storage.push_bulk((0..count).map(|_| args(peer::NUMBER)).collect()).await?;
            }
            report_pushes(begun, options.jobs);
        }
        _ => return worker::run(options, storages).await,
    }
    peer::stay().await;
    Ok(())
}

fn report_pushes(begun: Instant, jobs: usize) {
    peer::report(&serde_json::json!({ "seconds": begun.elapsed().as_secs_f64(), "jobs": jobs }));
}
