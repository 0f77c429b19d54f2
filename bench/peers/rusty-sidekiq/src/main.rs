//! rusty-sidekiq: jobs are popped by BRPOP, so a killed process loses those that it ran.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use peer::{Command, JobArgs, Meter, Mode, Options, Outcome, Workload, args};
use sidekiq::{Processor, ProcessorConfig, RedisConnectionManager, RedisPool, Worker, opts};

const CLASS: &str = "NoopJob";
/// How far ahead the jobs of `delayed_due` are scheduled: `fill` waits for them to be due.
const DUE_IN: Duration = Duration::from_secs(3);

struct NoopJob {
    meter: Arc<Meter>,
}

#[async_trait]
impl Worker<JobArgs> for NoopJob {
    async fn perform(&self, (_, number, _): JobArgs) -> sidekiq::Result<()> {
        self.meter.perform(number).await.map_err(|error| sidekiq::Error::Message(error.to_string()))
    }
}

#[tokio::main]
async fn main() -> Outcome {
    match peer::command() {
        Command::Version => println!("{}", peer::locked_version("rusty-sidekiq")),
        Command::Fill(options) if options.mode == Mode::Default => fill(&options).await?,
        Command::Run(options) if options.mode == Mode::Default => run(&options).await?,
        Command::Fill(_) => {}
        Command::Run(_) => refuse("it has no mode that keeps running jobs in Redis").await,
    }
    Ok(())
}

async fn pool(url: &str, size: usize) -> Result<RedisPool, Box<dyn std::error::Error>> {
    Ok(bb8::Pool::builder().max_size(u32::try_from(size)?).build(RedisConnectionManager::new(url)?).await?)
}

async fn fill(options: &Options) -> Outcome {
    let redis = pool(&options.redis, peer::PRODUCERS).await?;
    let numbered = matches!(options.workload, Workload::DrainFail | Workload::Numbers);
    match options.workload {
        Workload::Drain | Workload::DrainFail | Workload::Numbers => {
            push_together(&redis, options.jobs, numbered).await?;
        }
        Workload::DelayedDue => {
            for _ in 0..options.jobs {
                opts().perform_in(&redis, CLASS.to_owned(), DUE_IN, args(peer::NUMBER)).await?;
            }
            tokio::time::sleep(DUE_IN + Duration::from_secs(1)).await;
        }
        _ => {}
    }
    Ok(())
}

async fn push(redis: &RedisPool, queue: &str, number: u64) -> sidekiq::Result<()> {
    opts().queue(queue).perform_async(redis, CLASS.to_owned(), args(number)).await
}

/// Pushes by fifty producers.
async fn push_together(redis: &RedisPool, jobs: usize, numbered: bool) -> Outcome {
    let producers: Vec<_> = (0..peer::PRODUCERS)
        .map(|producer| {
            let redis = redis.clone();
            tokio::spawn(async move {
                for number in (producer..jobs).step_by(peer::PRODUCERS) {
                    push(&redis, "default", if numbered { number as u64 } else { peer::NUMBER }).await?;
                }
                sidekiq::Result::Ok(())
            })
        })
        .collect();
    for producer in producers {
        producer.await??;
    }
    Ok(())
}

async fn run(options: &Options) -> Outcome {
    match options.workload {
        Workload::Push1 => {
            let redis = pool(&options.redis, 1).await?;
            peer::ready();
            let begun = Instant::now();
            for _ in 0..options.jobs {
                push(&redis, "default", peer::NUMBER).await?;
            }
            report_pushes(begun, options.jobs);
        }
        Workload::Push50 => {
            let redis = pool(&options.redis, peer::PRODUCERS).await?;
            peer::ready();
            let begun = Instant::now();
            push_together(&redis, options.jobs, false).await?;
            report_pushes(begun, options.jobs);
        }
        Workload::PushBulk => {
            refuse("it has no call that pushes more than one job").await;
            return Ok(());
        }
        _ => return run_worker(options).await,
    }
    peer::stay().await;
    Ok(())
}

async fn refuse(why: &str) {
    peer::ready();
    peer::unsupported(why);
    peer::stay().await;
}

fn report_pushes(begun: Instant, jobs: usize) {
    peer::report(&serde_json::json!({ "seconds": begun.elapsed().as_secs_f64(), "jobs": jobs }));
}

async fn run_worker(options: &Options) -> Outcome {
    let meter = Meter::new(options)?;
    let queues = peer::queues(options.queues);
    // Its README: a pool for pushing, and one for fetching that is no smaller than the number of workers. Each worker
    // holds a connection while it waits, and the poller and the statistics need one too.
    let pushing = pool(&options.redis, 10).await?;
    let fetching = pool(&options.redis, options.concurrency + 5).await?;
    let mut processor = Processor::new(fetching, queues.clone())
        .with_config(ProcessorConfig::default().num_workers(options.concurrency));
    processor.register(NoopJob { meter: meter.clone() });

    peer::ready();
    let begun = Instant::now();
    let worker = tokio::spawn(processor.run());
    match options.workload {
        Workload::Pickup => {
            let mut pushed = Vec::new();
            for number in 0..options.jobs + peer::WARM_UP {
                tokio::time::sleep(peer::PICK_UP_PAUSE).await;
                pushed.push(Instant::now());
                push(&pushing, &queues[number % queues.len()], number as u64).await?;
            }
            meter.report_pick_ups(&pushed, options.limit()).await;
        }
        Workload::DelayedLate => {
            let first = SystemTime::now() + peer::DUE_LEAD;
            let mut all_due = Vec::new();
            for (number, offset) in peer::due_offsets(options.jobs).into_iter().enumerate() {
                let due = first + Duration::from_secs_f64(offset);
                let wait = due.duration_since(SystemTime::now()).unwrap_or_default();
                opts().perform_in(&pushing, CLASS.to_owned(), wait, args(number as u64)).await?;
                all_due.push(due);
            }
            meter.report_lateness(&all_due, peer::DUE_LEAD + peer::DUE_WITHIN + options.limit()).await;
        }
        Workload::DelayedDue => meter.report_time_since(begun, options.limit()).await,
        Workload::Idle | Workload::Numbers => {}
        _ => meter.report_drain(options.limit()).await,
    }
    peer::stay().await;
    worker.abort();
    Ok(())
}
