//! What can be wrong with the text of a cron.

use std::fmt;

/// A part of a cron that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CronPart {
    /// The text as a whole: its fields and their number.
    Fields,
    /// The first of six fields.
    Seconds,
    /// The first of five fields.
    Minutes,
    /// Hours of the day.
    Hours,
    /// Days of the month.
    DaysOfMonth,
    /// Months.
    Months,
    /// Days of the week.
    DaysOfWeek,
    /// The time zone.
    Zone,
    /// What starts with `@`.
    Nickname,
    /// What follows `every`.
    Phrase,
    /// A time of day in a phrase.
    TimeOfDay,
}

impl fmt::Display for CronPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fields => "fields",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::DaysOfMonth => "days of month",
            Self::Months => "months",
            Self::DaysOfWeek => "days of week",
            Self::Zone => "zone",
            Self::Nickname => "nickname",
            Self::Phrase => "phrase",
            Self::TimeOfDay => "time of day",
        })
    }
}

/// A text that is no cron, or a cron that never comes.
///
/// ```
/// use cogworker_core::cron::Cron;
///
/// let error = Cron::parse("*/0 * * * *").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cron \"*/0 * * * *\": minutes: expected a step from 1 to 60, found \"*/0\" (hint: write * for each)"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cron {text:?}: {part}: expected {}, found {}{}", fault.expected, fault.found, Hint(fault.hint.as_deref()))]
pub struct CronError {
    text: String,
    part: CronPart,
    // Boxed, so that a result which is mostly fine stays small.
    fault: Box<Fault>,
}

impl CronError {
    /// The text as it was given; the beginning of one that is too long to be a cron.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Which part of it is wrong.
    pub fn part(&self) -> CronPart {
        self.part
    }

    /// What is accepted there.
    pub fn expected(&self) -> &str {
        &self.fault.expected
    }

    /// What stands there.
    pub fn found(&self) -> &str {
        &self.fault.found
    }

    /// What to write instead, where that can be told.
    pub fn hint(&self) -> Option<&str> {
        self.fault.hint.as_deref()
    }
}

/// What is wrong with one part, before the whole text is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    part: CronPart,
    expected: String,
    found: String,
    hint: Option<String>,
}

impl Fault {
    /// `found` is shown in quotes.
    pub(super) fn new(part: CronPart, expected: impl Into<String>, found: &str) -> Self {
        Self { part, expected: expected.into(), found: format!("{found:?}"), hint: None }
    }

    /// `found` is shown as it is, such as a number of fields.
    pub(super) fn plain(part: CronPart, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { part, expected: expected.into(), found: found.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn in_text(self, text: &str) -> CronError {
        CronError { text: text.to_owned(), part: self.part, fault: Box::new(self) }
    }
}

struct Hint<'a>(Option<&'a str>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |hint| write!(f, " (hint: {hint})"))
    }
}
