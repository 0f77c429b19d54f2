//! Code around every push and every run: a tenant that travels in the job, a time for each run, a limit.
//!
//! Pushes three jobs, works them off and ends.

use std::error::Error;
use std::time::Instant;

use cogworker_client::Client;
use cogworker_client::middleware::{MiddlewareResult, Next as NextPush, from_fn as push_fn};
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::middleware::{Next, from_fn};
use cogworker_server::{App, Config, Context, JobError, Run, Server};
use recipes::Thumbnail;
use tokio::sync::mpsc;
use tower::limit::ConcurrencyLimitLayer;

/// Around each push: any field may be added to a job.
async fn add_tenant(job: NewJob, next: NextPush) -> MiddlewareResult {
    next.run(job.set("tenant", "acme")).await
}

/// Around each run: a job without a tenant fails before its handler is called.
async fn need_tenant(run: Run, next: Next) -> Result<(), JobError> {
    match run.field("tenant") {
        Some(_) => next.run(run).await,
        None => Err(JobError::new("NoTenant", "the job names no tenant")),
    }
}

async fn measure(run: Run, next: Next) -> Result<(), JobError> {
    let begun = Instant::now();
    let result = next.run(run.clone()).await;
    println!("{} {} took {:?}", run.class(), run.args_json(), begun.elapsed());
    result
}

async fn shrink(Thumbnail(file, width): Thumbnail, ctx: Context<mpsc::Sender<()>>) {
    // As JSON, since a field may hold anything.
    println!("{file} to {width} pixels, for {}", ctx.run().field("tenant").unwrap_or_default());
    let _ = ctx.state().send(()).await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let redis = RedisConfig::from_env()?;
    let client = Client::connect(&redis).await?.with_middleware(push_fn(add_tenant));
    for width in [64, 128, 256] {
        let job = NewJob::of(&Thumbnail("cat.png".into(), width)).queue("recipe-middleware");
        client.push(job).await?;
    }

    // The first is the outermost: what it measures includes all that follow.
    let (told, mut done) = mpsc::channel(1);
    let app = App::new(told)
        .middleware(from_fn(measure))
        .middleware(from_fn(need_tenant))
        .middleware(ConcurrencyLimitLayer::new(2)) // any tower layer will do
        .job(shrink);
    let config = Config::builder().queue("recipe-middleware", 1).redis(redis).build()?;
    let three_runs = async move {
        for _ in 0..3 {
            done.recv().await;
        }
    };
    Server::new(config, app).run(three_runs).await?;
    Ok(())
}
