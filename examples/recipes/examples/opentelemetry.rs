//! One trace from a request through the push to the run: `cargo run -p recipes --features otel --example opentelemetry`.
//!
//! The spans are kept in memory and printed at the end; a real program has an exporter to its collector.

use std::error::Error;

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::logging::LogOptions;
use cogworker_server::{App, Config, Context, Server};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use recipes::Thumbnail;
use tokio::sync::mpsc;
use tracing::{Instrument, info_span};
use tracing_subscriber::layer::SubscriberExt;

const QUEUE: &str = "recipe-otel";

async fn shrink(Thumbnail(file, width): Thumbnail, ctx: Context<mpsc::Sender<()>>) {
    let read = async { tracing::info!("{file} to {width} pixels") };
    read.instrument(info_span!("read the file")).await;
    let _ = ctx.state().send(()).await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("recipes"));
    // The worker's log as usual, and the spans beside it.
    let (log, _) = LogOptions::new().subscriber()?;
    tracing::subscriber::set_global_default(log.with(layer))?;

    let redis = RedisConfig::from_env()?;
    let client = Client::connect(&redis).await?;
    let job = NewJob::of(&Thumbnail("cat.png".into(), 64)).queue(QUEUE);
    client.push(job).instrument(info_span!("POST /pictures")).await?;

    let (told, mut done) = mpsc::channel(1);
    let config = Config::builder().queue(QUEUE, 1).redis(redis).build()?;
    let one_run = async move {
        done.recv().await;
    };
    Server::new(config, App::new(told).job(shrink)).run(one_run).await?;

    provider.force_flush()?;
    for span in exporter.get_finished_spans()? {
        println!("trace {} span {:?} in {}", span.span_context.trace_id(), span.name, span.parent_span_id);
    }
    provider.shutdown()?;
    Ok(())
}
