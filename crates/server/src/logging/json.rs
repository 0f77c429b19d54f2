//! What a line looks like for programs.

use std::fmt;
use std::time::SystemTime;

use serde_json::{Map, Number, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::current_run::current_fields;
use super::format::{VALUE_LIMIT, write_time};

/// The keys of every line. A field of the same name gets an underscore behind it.
const OWN_KEYS: [&str; 5] = ["time", "pid", "level", "message", "target"];

/// `{"time":…,"pid":…,"level":…,"message":…,"target":…}`, with the fields of the event and of the spans around it.
/// Of several with the same name the innermost counts.
pub(super) struct JsonFormat {
    pid: u32,
}

impl JsonFormat {
    pub(super) fn new() -> Self {
        Self { pid: std::process::id() }
    }
}

impl<S, N> FormatEvent<S, N> for JsonFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Map::new();
        let mut time = String::new();
        write_time(&mut time, SystemTime::now())?;
        line.insert("time".into(), time.into());
        line.insert("pid".into(), self.pid.into());
        line.insert("level".into(), event.metadata().level().as_str().into());
        line.insert("message".into(), Value::Null);
        line.insert("target".into(), event.metadata().target().into());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                // What a span recorded later follows as an object of its own.
                let objects = serde_json::Deserializer::from_str(fields).into_iter::<Map<String, Value>>();
                objects.map_while(Result::ok).for_each(|object| line.extend(object));
            }
        }
        current_fields(|fields| {
            line.extend(fields.map(|(name, value)| (name.to_owned(), cut(value).into())));
        });
        let mut visitor = JsonVisitor::default();
        event.record(&mut visitor);
        line.extend(visitor.message.map(|message| ("message".to_owned(), message.into())));
        line.extend(visitor.fields);
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// Fields as one object.
pub(super) struct JsonFields;

impl<'w> FormatFields<'w> for JsonFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = JsonVisitor::default();
        fields.record(&mut visitor);
        write!(writer, "{}", Value::Object(visitor.fields))
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(VALUE_LIMIT) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

#[derive(Default)]
struct JsonVisitor {
    message: Option<String>,
    fields: Map<String, Value>,
}

impl JsonVisitor {
    fn set(&mut self, field: &Field, value: Value) {
        let name = match field.name() {
            name if OWN_KEYS.contains(&name) => format!("{name}_"),
            name => name.to_owned(),
        };
        self.fields.insert(name, value);
    }
}

impl Visit for JsonVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        let text = cut(value);
        if field.name() == "message" { self.message = Some(text) } else { self.set(field, text.into()) }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no infinity and no NaN.
        let number = Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number);
        self.set(field, number);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_str(field, &value.to_string());
    }

    /// Also what is recorded by its `Display`.
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
