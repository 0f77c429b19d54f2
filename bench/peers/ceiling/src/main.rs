//! The floor under every job system: the same bytes moved and removed in Redis, and no job in between.

mod drain;
mod pick_up;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use peer::{Command, Options, Outcome, Workload};
use redis::Client;
use redis::aio::MultiplexedConnection;

/// A job's bytes, as a job system would write them. No JSON library is involved.
fn payload(number: usize) -> String {
    format!(
        r#"{{"class":"NoopJob","args":["a string of some length",12345,true],"retry":true,"queue":"default","jid":"{number:024x}","created_at":1700000000.0000000,"enqueued_at":1700000000.0000000}}"#
    )
}

fn queue_key(name: &str) -> String {
    format!("queue:{name}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    match peer::command() {
        Command::Version => println!("redis-rs {}", peer::locked_version("redis")),
        Command::Fill(options) => {
            if options.workload == Workload::Drain {
                push_bulk(&mut connect(&options).await?, options.jobs).await?;
            }
        }
        Command::Run(options) => run(&options).await?,
    }
    Ok(())
}

async fn connect(options: &Options) -> redis::RedisResult<MultiplexedConnection> {
    // Waits for a job last longer than any answer may take.
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    Client::open(options.redis.as_str())?.get_multiplexed_async_connection_with_config(&config).await
}

async fn run(options: &Options) -> Outcome {
    match options.workload {
        Workload::Push1 => {
            let mut redis = connect(options).await?;
            peer::ready();
            let begun = Instant::now();
            for number in 0..options.jobs {
                push(&mut redis, &queue_key("default"), &[payload(number)]).await?;
            }
            report(begun, options.jobs);
        }
        Workload::Push50 => {
            let redis = connect(options).await?;
            peer::ready();
            let begun = Instant::now();
            let next = AtomicUsize::new(0);
            let producer = async || {
                let mut redis = redis.clone();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.jobs {
                        return redis::RedisResult::Ok(());
                    }
                    push(&mut redis, &queue_key("default"), &[payload(number)]).await?;
                }
            };
            futures::future::try_join_all((0..peer::PRODUCERS).map(|_| producer())).await?;
            report(begun, options.jobs);
        }
        Workload::PushBulk => {
            let mut redis = connect(options).await?;
            peer::ready();
            let begun = Instant::now();
            push_bulk(&mut redis, options.jobs).await?;
            report(begun, options.jobs);
        }
        Workload::Drain => drain::run(options).await?,
        Workload::Pickup => pick_up::run(options).await?,
        Workload::Idle => return pick_up::idle(options).await,
        _ => {
            peer::ready();
            peer::unsupported("it knows no retries and no schedule");
        }
    }
    peer::stay().await;
    Ok(())
}

async fn push(redis: &mut MultiplexedConnection, key: &str, jobs: &[String]) -> redis::RedisResult<()> {
    redis::cmd("LPUSH").arg(key).arg(jobs).query_async(redis).await
}

async fn push_bulk(redis: &mut MultiplexedConnection, jobs: usize) -> redis::RedisResult<()> {
    let key = queue_key("default");
    for first in (0..jobs).step_by(peer::BULK) {
        let batch: Vec<String> = (first..jobs.min(first + peer::BULK)).map(payload).collect();
        push(redis, &key, &batch).await?;
    }
    Ok(())
}

fn report(begun: Instant, jobs: usize) {
    peer::report(&serde_json::json!({ "seconds": begun.elapsed().as_secs_f64(), "jobs": jobs }));
}
