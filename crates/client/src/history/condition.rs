//! What a run must be like to be found.

use std::borrow::Cow;

use cogworker_core::formats::EndedRun;

/// What is known of a run, as the columns of a table (WEBH-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Column {
    /// When it ended, epoch seconds.
    FinishedAt,
    /// The job's class.
    Class,
    /// The queue.
    Queue,
    /// The job's id.
    Jid,
    /// The args, as JSON.
    Args,
    /// `success` or `failed`.
    Status,
    /// How long it took, in whole milliseconds.
    Duration,
    /// `Class: message` of the error; empty after a success.
    Error,
}

impl Column {
    /// A run's number in this column; `None` in one of texts.
    pub(super) fn number(self, run: &EndedRun) -> Option<f64> {
        match self {
            Self::FinishedAt => Some(run.finished_at.as_f64()),
            Self::Duration => Some(run.duration_ms()),
            _ => None,
        }
    }

    /// A run's text in this column; of a number, the number.
    pub(super) fn text(self, run: &EndedRun) -> Cow<'_, str> {
        match self {
            Self::FinishedAt => run.finished_at.as_f64().to_string().into(),
            Self::Class => run.class.as_str().into(),
            Self::Queue => run.queue.as_str().into(),
            Self::Jid => run.jid.as_str().into(),
            Self::Args => run.args.get().into(),
            Self::Status => run.status.name().into(),
            Self::Duration => run.duration_ms().to_string().into(),
            Self::Error => run.error().into(),
        }
    }
}

/// One condition on a column (WEBH-13). Texts are compared without regard to case. A number is in the unit of its column:
/// milliseconds, or epoch seconds. A condition on a number is never met in a column of texts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// The text has this part.
    Contains(String),
    /// The text has no such part.
    NotContains(String),
    /// The text is this.
    Equals(String),
    /// The text is another.
    NotEqual(String),
    /// The text begins so.
    StartsWith(String),
    /// The text ends so.
    EndsWith(String),
    /// There is no text, or only space.
    Blank,
    /// There is a text.
    NotBlank,
    /// The number is this.
    NumberEquals(f64),
    /// The number is another.
    NumberNotEqual(f64),
    /// The number is smaller.
    LessThan(f64),
    /// The number is smaller, or this.
    LessThanOrEqual(f64),
    /// The number is greater.
    GreaterThan(f64),
    /// The number is greater, or this.
    GreaterThanOrEqual(f64),
    /// The number is between these, and neither of them.
    InRange(f64, f64),
}

impl Condition {
    /// With its text in lower case, as [`is_met`](Self::is_met) needs it.
    pub(super) fn folded(self) -> Self {
        let fold = |text: String| text.to_lowercase();
        match self {
            Self::Contains(text) => Self::Contains(fold(text)),
            Self::NotContains(text) => Self::NotContains(fold(text)),
            Self::Equals(text) => Self::Equals(fold(text)),
            Self::NotEqual(text) => Self::NotEqual(fold(text)),
            Self::StartsWith(text) => Self::StartsWith(fold(text)),
            Self::EndsWith(text) => Self::EndsWith(fold(text)),
            other => other,
        }
    }

    /// Whether a run with this text, in lower case, and number meets it.
    pub(super) fn is_met(&self, text: &str, number: Option<f64>) -> bool {
        let is = |test: &dyn Fn(f64) -> bool| number.is_some_and(test);
        match self {
            Self::Contains(part) => text.contains(&**part),
            Self::NotContains(part) => !text.contains(&**part),
            Self::Equals(whole) => text == whole,
            Self::NotEqual(whole) => text != whole,
            Self::StartsWith(part) => text.starts_with(&**part),
            Self::EndsWith(part) => text.ends_with(&**part),
            Self::Blank => text.trim().is_empty(),
            Self::NotBlank => !text.trim().is_empty(),
            Self::NumberEquals(limit) => is(&|number| number == *limit),
            Self::NumberNotEqual(limit) => is(&|number| number != *limit),
            Self::LessThan(limit) => is(&|number| number < *limit),
            Self::LessThanOrEqual(limit) => is(&|number| number <= *limit),
            Self::GreaterThan(limit) => is(&|number| number > *limit),
            Self::GreaterThanOrEqual(limit) => is(&|number| number >= *limit),
            Self::InRange(low, high) => is(&|number| *low < number && number < *high),
        }
    }
}
