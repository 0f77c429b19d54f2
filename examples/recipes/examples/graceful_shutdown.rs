//! Long jobs and a stop: one ends early and is put back, one is cut off where it waits, one blocks and looks.
//!
//! The program stops its worker while all three run. None has failed: each is on its queue again, to be run from the
//! start by the next worker.

use std::error::Error;
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, JobError, Server};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

const QUEUE: &str = "recipe-shutdown";

macro_rules! job {
    ($name:ident, $class:literal) => {
        #[derive(Serialize, Deserialize)]
        struct $name;

        impl Job for $name {
            const CLASS: &'static str = $class;
        }
    };
}

job!(Tidy, "TidyJob");
job!(Plain, "PlainJob");
job!(Blocking, "BlockingJob");

type Started = mpsc::UnboundedSender<&'static str>;

/// Notices the end, tidies up, and asks to be put back. Any other error would be a failure.
async fn tidy(_: Tidy, ctx: Context<Started>) -> Result<(), JobError> {
    let _ = ctx.state().send("tidy");
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs(600)) => Ok(()),
        () = ctx.cancelled() => {
            println!("tidy: removing my temporary files");
            Err(JobError::interrupted())
        }
    }
}

/// Notices nothing: it is dropped at its `await`, a second after the others were asked to end.
async fn plain(_: Plain, ctx: Context<Started>) {
    let _ = ctx.state().send("plain");
    tokio::time::sleep(Duration::from_secs(600)).await;
}

/// Cannot be dropped, so it looks now and then.
fn block(_: Blocking, ctx: Context<Started>) -> Result<(), JobError> {
    let _ = ctx.state().send("blocking");
    for _part in 0..6_000 {
        if ctx.is_cancelled() {
            println!("blocking: leaving off");
            return Err(JobError::interrupted());
        }
        std::thread::sleep(Duration::from_millis(100)); // a part of the work
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let redis = RedisConfig::from_env()?;
    let client = Client::connect(&redis).await?;
    client.queue(QUEUE).clear().await?;
    for class in [Tidy::CLASS, Plain::CLASS, Blocking::CLASS] {
        client.push(NewJob::new(class).queue(QUEUE)).await?;
    }

    let (told, mut started) = mpsc::unbounded_channel();
    let config = Config::builder()
        .queue(QUEUE, 1)
        .shutdown_timeout(Duration::from_secs(1)) // 25 s by default
        .redis(redis)
        .build()?;
    let app = App::new(told).job(tidy).job(plain).job_blocking(block);
    let all_run = async move {
        for _ in 0..3 {
            started.recv().await;
        }
        println!("all three are running: stop");
    };
    Server::new(config, app).run(all_run).await?;

    println!("back on the queue: {}", client.queue(QUEUE).info().await?.size.unwrap_or_default());
    println!("waiting for a retry: {}", client.retries().size().await?);
    client.queue(QUEUE).clear().await?;
    Ok(())
}
