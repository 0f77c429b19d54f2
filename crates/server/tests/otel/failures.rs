//! Every way in which a run fails is told by its span.

use std::error::Error;
use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::options::JobOptions;
use cogworker_server::App;
use cogworker_server::middleware::{Next, from_fn};
use opentelemetry::trace::{SpanId, Status, TraceId};
use opentelemetry_sdk::trace::SpanData;
use serde::{Deserialize, Serialize};

use crate::spans::{Spans, attribute};
use crate::support::{Site, TestResult, reach};

#[derive(Serialize, Deserialize)]
struct Panicking(String);

impl Job for Panicking {
    const CLASS: &'static str = "PanickingJob";
}

#[derive(Serialize, Deserialize)]
struct PanickingThread(String);

impl Job for PanickingThread {
    const CLASS: &'static str = "PanickingThreadJob";
}

#[derive(Serialize, Deserialize)]
struct Endless();

impl Job for Endless {
    const CLASS: &'static str = "EndlessJob";

    fn options() -> JobOptions {
        JobOptions::new().timeout(Duration::from_millis(20))
    }
}

/// A worker's handlers, which fail in all their ways.
#[expect(clippy::panic, reason = "it is what these runs are for")]
fn failing() -> App {
    App::new(())
        .job(async |job: Panicking| {
            tokio::task::yield_now().await;
            if !job.0.is_empty() {
                panic!("no {}", job.0);
            }
        })
        .job_blocking(|job: PanickingThread| {
            if !job.0.is_empty() {
                panic!("no {}", job.0);
            }
        })
        .job(async |_: Endless| std::future::pending::<()>().await)
}

/// The one span of a class that was not ended before `known` of them were.
fn newest(name: &str, known: usize) -> Result<SpanData, Box<dyn Error>> {
    let spans = Spans::of_this_process();
    reach(&format!("a span of {name}"), || spans.named(name).len() == known + 1)?;
    Ok(spans.named(name).remove(known))
}

fn assert_failed(span: &SpanData, class: &str, message: &str) {
    assert_eq!(span.status, Status::error(message.to_owned()), "{span:?}");
    assert_eq!(attribute(span, "error.type").as_deref(), Some(class), "{span:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_span_of_a_run_that_panics_takes_too_long_or_has_no_handler_has_failed() -> TestResult {
    Spans::of_this_process();
    let site = Site::start().await?;
    let around = from_fn(|run, next: Next| next.run(run));
    for (round, app) in [failing(), failing().middleware(around)].into_iter().enumerate() {
        let worker = site.worker(app)?;
        site.client.push(NewJob::of(&Panicking("luck".into())).retry(false)).await?;
        assert_failed(&newest("PanickingJob", round)?, "Panic", "no luck");
        site.client.push(NewJob::of(&PanickingThread("room".into())).retry(false)).await?;
        assert_failed(&newest("PanickingThreadJob", round)?, "Panic", "no room");
        site.client.push(NewJob::of(&Endless()).retry(false)).await?;
        assert_failed(&newest("EndlessJob", round)?, "Timeout", "ran longer than 0.02 s");
        site.client.push(NewJob::new("Forgotten").retry(false)).await?;
        let forgotten = newest("Forgotten", round)?;
        let message = match &forgotten.status {
            Status::Error { description } => description.to_string(),
            other => format!("{other:?}"),
        };
        assert!(message.contains("Forgotten"), "{message}");
        assert_failed(&forgotten, "NameError", &message);
        worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_traceparent_that_cannot_be_read_begins_a_trace() -> TestResult {
    Spans::of_this_process();
    let site = Site::start().await?;
    let worker = site.worker(App::new(()))?;
    for (round, broken) in
        ["", "00-0af7651916cd43dd8448eb211c80319c", "none \u{fffd}"].into_iter().enumerate()
    {
        let job = NewJob::new("Adrift").retry(false).set("traceparent", broken);
        site.client.push(job).await?;
        let span = newest("Adrift", round)?;
        assert_eq!(span.parent_span_id, SpanId::INVALID, "{broken}");
        assert_ne!(span.span_context.trace_id(), TraceId::INVALID, "{broken}");
    }
    worker.stop().await
}
