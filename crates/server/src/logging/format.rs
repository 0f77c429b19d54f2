//! What a line looks like.

use std::fmt::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cogworker_core::time::utc_date;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::current_run::current_fields;

/// A value is shown up to so many characters: class names and messages of jobs may be megabytes.
pub(super) const VALUE_LIMIT: usize = 10_000;

/// `time pid=n LEVEL: message key=value`, then the fields of the spans around it, outermost first.
pub(super) struct LineFormat {
    pid: u32,
}

impl LineFormat {
    pub(super) fn new() -> Self {
        Self { pid: std::process::id() }
    }
}

impl<S, N> FormatEvent<S, N> for LineFormat
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
        write_time(&mut writer, SystemTime::now())?;
        write!(writer, " pid={} ", self.pid)?;
        let level = *event.metadata().level();
        if writer.has_ansi_escapes() {
            write!(writer, "\x1b[{}m{level}\x1b[0m:", colour(level))?;
        } else {
            write!(writer, "{level}:")?;
        }
        let mut visitor = LineVisitor::new(writer.by_ref());
        event.record(&mut visitor);
        if !visitor.names_a_job {
            current_fields(|fields| fields.map(|(name, value)| visitor.write_value(name, value)));
        }
        visitor.result?;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                writer.write_str(fields)?;
            }
        }
        writeln!(writer)
    }
}

fn colour(level: Level) -> u8 {
    match level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    }
}

/// Fields as ` key=value`, each with a space before it.
pub(super) struct LineFields;

impl<'w> FormatFields<'w> for LineFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = LineVisitor::new(writer);
        fields.record(&mut visitor);
        visitor.result
    }
}

struct LineVisitor<'w> {
    writer: Writer<'w>,
    result: fmt::Result,
    names_a_job: bool,
}

impl<'w> LineVisitor<'w> {
    fn new(writer: Writer<'w>) -> Self {
        Self { writer, result: Ok(()), names_a_job: false }
    }

    fn write(&mut self, name: &str, write: impl FnOnce(&mut Writer<'w>) -> fmt::Result) {
        self.names_a_job |= name == "jid";
        if self.result.is_ok() {
            self.result = self
                .writer
                .write_char(' ')
                .and_then(|()| match name {
                    "message" => Ok(()),
                    name => write!(self.writer, "{name}="),
                })
                .and_then(|()| write(&mut self.writer));
        }
    }
}

impl LineVisitor<'_> {
    fn write_value(&mut self, name: &str, value: &str) {
        if name == "message" || is_bare(value) {
            self.write(name, |writer| OneLine::new(writer).write_str(value));
        } else {
            self.write(name, |writer| write!(OneLine::new(writer), "{value:?}"));
        }
    }
}

impl Visit for LineVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.write_value(field.name(), value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_str(field, &value.to_string());
    }

    /// Also what is recorded by its `Display`.
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            return self.write(field.name(), |writer| write!(OneLine::new(writer), "{value:?}"));
        }
        let text = format!("{value:?}");
        let quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
        if quoted {
            self.write(field.name(), |writer| OneLine::new(writer).write_str(&text));
        } else {
            self.record_str(field, &text);
        }
    }
}

/// Whether the end of a value is clear without quotes.
fn is_bare(value: &str) -> bool {
    !value.is_empty() && !value.contains(|char: char| char.is_whitespace() || char == '"' || char == '=')
}

/// Escapes control characters, so that a value can neither start a line nor steer a terminal, and cuts
/// what is very long.
struct OneLine<'a, 'w> {
    writer: &'a mut Writer<'w>,
    left: usize,
    cut: bool,
}

impl<'a, 'w> OneLine<'a, 'w> {
    fn new(writer: &'a mut Writer<'w>) -> Self {
        Self { writer, left: VALUE_LIMIT, cut: false }
    }
}

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let shown = text.char_indices().nth(self.left).map_or(text, |(end, _)| &text[..end]);
        self.left -= shown.chars().count();
        let mut plain = 0;
        for (index, char) in shown.char_indices().filter(|(_, char)| char.is_control()) {
            self.writer.write_str(&shown[plain..index])?;
            write!(self.writer, "{}", char.escape_default())?;
            plain = index + char.len_utf8();
        }
        self.writer.write_str(&shown[plain..])?;
        if shown.len() < text.len() && !self.cut {
            self.cut = true;
            self.writer.write_char('…')?;
        }
        Ok(())
    }
}

/// Writes a time in UTC with milliseconds, such as `2026-11-30T05:01:38.123Z`.
pub(super) fn write_time(writer: &mut impl Write, time: SystemTime) -> fmt::Result {
    // A clock before 1970 is not set; the log then says 1970.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    let (year, month, day) = utc_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    write!(
        writer,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        since.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut_by_characters_and_says_so_once() {
        let shown = |pieces: &[&str]| {
            let mut text = String::new();
            let mut writer = Writer::new(&mut text);
            let mut line = OneLine::new(&mut writer);
            pieces.iter().try_for_each(|piece| line.write_str(piece)).unwrap();
            text
        };
        let whole = "é".repeat(VALUE_LIMIT);
        assert_eq!(shown(&[&whole]), whole);
        assert_eq!(shown(&[&whole, "", "a", "\n"]), format!("{whole}…"));
        assert_eq!(shown(&["a\n", &whole, "b"]), format!("a\\n{}…", "é".repeat(VALUE_LIMIT - 2)));
    }

    #[test]
    fn times_are_utc_with_milliseconds() {
        for (milliseconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_001, "2024-02-29T23:59:59.001Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (1_796_014_898_123, "2026-11-30T05:01:38.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let mut text = String::new();
            write_time(&mut text, UNIX_EPOCH + Duration::from_millis(milliseconds)).unwrap();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let leap = |year| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let mut expected = (1970, 1, 1);
        for day in 0..146_097 {
            assert_eq!(utc_date(day), expected);
            let (year, month, day) = expected;
            let last = match month {
                2 if leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                _ if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }
}
