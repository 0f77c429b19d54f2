//! A span for each run, which continues the OpenTelemetry trace in which the job was pushed.

use cogworker_core::failure::Failure;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::handler::{JobClosure, Prepared};
use crate::job_error::INTERRUPTED;
use crate::panic_guard::{Contained, contain};
use crate::run::Run;

/// The run inside a span of its own. Its name is the class, since a trace's names should be few.
/// Panics are contained within, so that the span tells of them too.
pub(crate) fn traced(prepared: Result<Prepared, Failure>, run: &Run) -> Result<Prepared, Failure> {
    let prepared = prepared.inspect_err(|failure| failed(failure, run))?;
    let (span, run) = (span_of(run), run.clone());
    Ok(match prepared {
        Prepared::Async(future) => {
            let ended = span.clone();
            let noted = async move {
                Contained(Some(future)).await.inspect_err(|failure| note(failure, &run, &ended))
            };
            Prepared::Async(Box::pin(noted.instrument(span)))
        }
        Prepared::Blocking(closure) => Prepared::Blocking(Box::new(move || {
            let result = span.in_scope(|| contain(closure)).and_then(|result| result);
            result.inspect_err(|failure| note(failure, &run, &span))
        })),
    })
}

/// The span of a run that failed before anything of it could run.
pub(crate) fn failed(failure: &Failure, run: &Run) {
    note(failure, run, &span_of(run));
}

/// The closure with the current span, on whatever thread it is called.
pub(crate) fn carried(closure: JobClosure) -> JobClosure {
    let span = Span::current();
    Box::new(move || span.in_scope(closure))
}

fn span_of(run: &Run) -> Span {
    let span = info_span!(
        "job",
        otel.name = run.class(),
        otel.kind = "consumer",
        otel.status_code = Empty,
        otel.status_description = Empty,
        error.r#type = Empty,
        messaging.system = "cogworker",
        messaging.destination.name = run.queue(),
        messaging.message.id = run.jid().as_str(),
        cogworker.attempt = run.attempt(),
    );
    let parent = run.field("traceparent").and_then(|field| parse(field.trim_matches('"')));
    if let Some(parent) = parent.filter(|_| !span.is_disabled()) {
        // Without an OpenTelemetry layer there is no trace to continue.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
    span
}

/// A run that ends because it was asked to has not failed.
fn note(failure: &Failure, run: &Run, span: &Span) {
    if failure.class == INTERRUPTED && run.is_interrupted() {
        return;
    }
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", failure.limited_message());
    span.record("error.type", failure.class.as_str());
}

/// Reads a W3C `traceparent`; `None` when it is none. Later versions may append to the first one.
fn parse(text: &str) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let mut hex = |length: usize| {
        let is_hex = |part: &&str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        parts.next().filter(|part| part.len() == length).filter(is_hex)
    };
    let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let trace = TraceId::from_hex(trace).ok()?;
    let span = SpanId::from_hex(span).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let parent = SpanContext::new(trace, span, flags, true, TraceState::default());
    parent.is_valid().then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_as_w3c_says() {
        let parent = parse(PARENT).unwrap();
        assert_eq!(parent.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parent.span_id().to_string(), "b7ad6b7169203331");
        assert!(parent.is_sampled() && parent.is_remote());
        assert!(!parse(&PARENT.replace("-01", "-00")).unwrap().is_sampled());
        assert!(parse(&PARENT.replacen("00", "01", 1).replace("-01", "-01-more")).is_some());
    }

    #[test]
    fn what_is_no_traceparent_is_no_parent() {
        let zeros = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        let more = format!("{PARENT}-more");
        let upper = PARENT.to_uppercase();
        let short = &PARENT[..PARENT.len() - 1];
        for text in ["", "00", zeros, &more, &upper, short, &PARENT.replacen("00", "ff", 1)] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
