//! Pushing.

use std::time::Instant;

use cogworker_client::{Client, ClientError};
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::Call;
use cogworker_core::time::EpochSeconds;

use super::{NoopJob, Options, connect, say, told_to_end};
use crate::demo::Outcome;

const PRODUCERS: usize = 50;

/// One producer, which awaits each.
pub(super) async fn one_by_one(options: &Options) -> Outcome {
    let client = connect(options).await?;
    say("ready")?;
    let begun = Instant::now();
    push(&client, options.jobs).await?;
    finish(begun, options.jobs).await
}

/// The same bytes by the bare Redis client that ours is built on: what a push cannot be faster than.
pub(super) async fn bare(options: &Options) -> Outcome {
    let client = connect(options).await?;
    let mut job = NewJob::of(&NoopJob::usual());
    job.prepare(EpochSeconds::now())?;
    let payload = job.payload(Some(EpochSeconds::now()));
    say("ready")?;
    let begun = Instant::now();
    for _ in 0..options.jobs {
        let call = Call::new().key(client.redis().keys().queue("default")).arg(payload.clone());
        client.redis().command("LPUSH", call).await?;
    }
    finish(begun, options.jobs).await
}

/// Many producers, each of which awaits its own.
pub(super) async fn concurrent(options: &Options) -> Outcome {
    let client = connect(options).await?;
    say("ready")?;
    let begun = Instant::now();
    let each = options.jobs / PRODUCERS;
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { push(&client, each).await })
        })
        .collect();
    for producer in producers {
        producer.await??;
    }
    finish(begun, each * PRODUCERS).await
}

async fn push(client: &Client, count: usize) -> Result<(), ClientError> {
    for _ in 0..count {
        client.perform_async(&NoopJob::usual()).await?;
    }
    Ok(())
}

/// All in one call.
pub(super) async fn bulk(options: &Options) -> Outcome {
    let client = connect(options).await?;
    let jobs = vec![NoopJob::usual(); options.jobs];
    say("ready")?;
    let begun = Instant::now();
    client.push_bulk(&jobs).await?;
    finish(begun, options.jobs).await
}

async fn finish(begun: Instant, jobs: usize) -> Outcome {
    let seconds = begun.elapsed().as_secs_f64();
    say(&serde_json::json!({ "seconds": seconds, "jobs": jobs }).to_string())?;
    told_to_end().await;
    Ok(())
}
