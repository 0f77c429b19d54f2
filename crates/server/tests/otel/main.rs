//! Traces that go on from a push to the run of the job, and from there.

#[expect(dead_code, reason = "the other tests of the server use the rest")]
#[path = "../server/support.rs"]
mod support;

mod failures;
mod spans;

use cogworker_core::new_job::NewJob;
use cogworker_server::middleware::{Next, from_fn};
use cogworker_server::{App, Context, JobError, Run};
use opentelemetry::trace::{SpanKind, Status};
use tracing::{Instrument, info_span};

use crate::spans::{Spans, attribute};
use crate::support::{Numbered, Site, TestResult, Text, reach};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_continues_the_trace_of_its_push_and_so_do_the_jobs_that_it_pushes() -> TestResult {
    let spans = Spans::of_this_process();
    let named = |name: &str| spans.named(name);
    let site = Site::start().await?;
    // Without a trace nothing is put into the job, and a trace that it names already is kept.
    site.client.push(NewJob::new("Untraced").queue("idle")).await?;
    let other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let pushed_again = NewJob::new("Traced").queue("idle").set("traceparent", other);
    site.client.push(pushed_again).instrument(info_span!("elsewhere")).await?;
    let idle = site.texts(&["LRANGE", "cogworker:queue:idle", "0", "-1"]);
    assert!(!idle[1].contains("traceparent") && idle[0].contains(other), "{idle:?}");

    let pushing = async |job: Numbered, ctx: Context| {
        ctx.client().perform_async(&Text(format!("from {}", job.0))).await.map(|_| ())
    };
    let failing = |job: Text| Err::<(), _>(JobError::new("Boom", job.0));
    // A blocking run keeps its span behind middleware, where it changes its thread.
    let app = App::new(())
        .middleware(from_fn(|run: Run, next: Next| next.run(run)))
        .job(pushing)
        .job_blocking(failing);
    let worker = site.worker(app)?;
    site.client.perform_async(&Numbered(1)).instrument(info_span!("request")).await?;
    reach("both ran", || named("NumberedJob").len() == 1 && named("TextJob").len() == 1)?;
    let (request, first, second) = (&named("request")[0], &named("NumberedJob")[0], &named("TextJob")[0]);
    let trace = request.span_context.trace_id();
    assert_eq!((first.span_context.trace_id(), second.span_context.trace_id()), (trace, trace));
    assert_eq!(first.parent_span_id, request.span_context.span_id());
    assert_eq!(second.parent_span_id, first.span_context.span_id());
    assert_eq!((&first.span_kind, &first.status), (&SpanKind::Consumer, &Status::Unset));
    assert_eq!(second.status, Status::error("from 1"));
    assert_eq!(attribute(second, "error.type").as_deref(), Some("Boom"));
    assert_eq!(attribute(second, "messaging.destination.name").as_deref(), Some("default"));
    worker.stop().await?;
    // The retry carries the trace on, here without middleware.
    let worker = site.worker(App::new(()).job_blocking(failing))?;
    site.make_due("retry")?;
    reach("it ran again", || named("TextJob").len() == 2)?;
    assert!(named("TextJob").iter().all(|span| span.parent_span_id == first.span_context.span_id()));
    worker.stop().await
}
