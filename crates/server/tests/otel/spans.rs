//! The spans that this program has ended.

use std::sync::OnceLock;

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::layer::SubscriberExt;

/// Kept for all tests of the program; there can be but one subscriber. Each test has classes of its own.
pub(crate) struct Spans {
    exporter: InMemorySpanExporter,
    _provider: SdkTracerProvider,
}

impl Spans {
    pub(crate) fn of_this_process() -> &'static Self {
        static SPANS: OnceLock<Spans> = OnceLock::new();
        SPANS.get_or_init(|| {
            let exporter = InMemorySpanExporter::default();
            let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
            let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
            let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
            Spans { exporter, _provider: provider }
        })
    }

    pub(crate) fn named(&self, name: &str) -> Vec<SpanData> {
        let spans = self.exporter.get_finished_spans().unwrap_or_default();
        spans.into_iter().filter(|span| span.name == name).collect()
    }
}

pub(crate) fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
    found.map(|attribute| attribute.value.to_string())
}
