//! The OpenTelemetry context of a push, carried in the job.

use cogworker_core::new_job::NewJob;
use opentelemetry::trace::TraceContextExt;
use serde_json::value::to_raw_value;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The job's field: a W3C `traceparent`.
const TRACEPARENT: &str = "traceparent";

/// Notes the trace of the current span, if there is one. A job that names a trace already, such as one
/// that is pushed once more, keeps it.
pub(crate) fn put_into(job: &mut NewJob) {
    if job.field(TRACEPARENT).is_some() {
        return;
    }
    let context = tracing::Span::current().context();
    let span = context.span();
    let parent = span.span_context();
    if !parent.is_valid() {
        return;
    }
    let flags = parent.trace_flags().to_u8();
    let text = format!("00-{}-{}-{flags:02x}", parent.trace_id(), parent.span_id());
    if let Ok(text) = to_raw_value(&text) {
        job.set_raw(TRACEPARENT, text);
    }
}
