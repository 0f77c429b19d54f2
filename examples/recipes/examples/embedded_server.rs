//! A worker inside a larger tokio program: here beside a web server that enqueues for it.
//!
//! `curl -X POST http://127.0.0.1:3000/cat.png`; Ctrl-C or TERM ends both, the worker after its running jobs.

use std::error::Error;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Server};
use recipes::Thumbnail;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

async fn upload(State(client): State<Client>, Path(file): Path<String>) -> StatusCode {
    let job = NewJob::of(&Thumbnail(file, 64)).queue("recipe-embedded");
    client.push(job).await.map_or(StatusCode::SERVICE_UNAVAILABLE, |_| StatusCode::ACCEPTED)
}

async fn shrink(Thumbnail(file, width): Thumbnail) {
    println!("{file} is now {width} pixels wide");
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An embedded worker leaves flags, signals and the log to the program.
    tracing_subscriber::fmt().with_env_filter("info").init();
    let redis = RedisConfig::from_env()?;
    let config = Config::builder().concurrency(4).queue("recipe-embedded", 1).redis(redis.clone()).build()?;
    let server = Server::new(config, App::new(()).job(shrink));
    let worker = server.handle(); // quiet, resume and stop from elsewhere in the program

    let client = Client::connect_lazily(&redis)?;
    let port = std::env::var("PORT").ok().map_or(Ok(3000), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on {}", listener.local_addr()?);
    let (end, ended) = watch::channel(false);
    let web = Router::new().route("/{file}", post(upload)).with_state(client);
    let web = axum::serve(listener, web).with_graceful_shutdown(until(ended.clone())).into_future();

    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        worker.quiet(); // at once; the stop follows
        let _ = end.send(true);
    });
    // Ends when both have: the web server has answered, and each job is done or back on its queue.
    let (web, worker) = tokio::join!(web, server.run(until(ended)));
    web?;
    worker?;
    println!("both have ended");
    Ok(())
}

async fn until(mut ended: watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}
