//! How times are written.

use chrono::DateTime;
use chrono::format::{Item, StrftimeItems};
use cogworker_core::time::EpochSeconds;

/// How times are written, as a `strftime` pattern; by default `%Y-%m-%d %H:%M:%S`.
///
/// ```
/// use cogworker_web::TimeFormat;
///
/// assert!(TimeFormat::new("%d.%m.%Y %H:%M").is_ok());
/// assert!(TimeFormat::new("%Q").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat(String);

/// A pattern with a part that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("use the time format {0:?}: it has a part that strftime does not know")]
pub struct TimeFormatError(String);

impl TimeFormat {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it has a part that `strftime` does not know.
    pub fn new(pattern: impl Into<String>) -> Result<Self, TimeFormatError> {
        let pattern = pattern.into();
        if StrftimeItems::new(&pattern).any(|item| item == Item::Error) {
            return Err(TimeFormatError(pattern));
        }
        Ok(Self(pattern))
    }

    /// The pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A time in UTC; what lies beyond all calendars is written as a number.
    pub(crate) fn write(&self, at: EpochSeconds) -> String {
        match (utc(at), at) {
            (Some(at), _) => at.format(&self.0).to_string(),
            (None, EpochSeconds::LAST) => "inf".to_owned(),
            (None, EpochSeconds::FIRST) => "-inf".to_owned(),
            (None, at) => at.to_string(),
        }
    }
}

impl Default for TimeFormat {
    fn default() -> Self {
        Self("%Y-%m-%d %H:%M:%S".into())
    }
}

/// As machines read it: `2026-01-02T03:04:05Z` (WEBC-13).
pub(crate) fn iso(at: EpochSeconds) -> String {
    utc(at).map_or_else(String::new, |at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// False for a time beyond all calendars, such as an infinite score.
pub(crate) fn is_in_calendar(at: EpochSeconds) -> bool {
    utc(at).is_some()
}

fn utc(at: EpochSeconds) -> Option<DateTime<chrono::Utc>> {
    DateTime::from_timestamp(at.as_f64().floor() as i64, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_asked_webc_13_webc_14() {
        let at = EpochSeconds::new(1_767_323_045.9);
        assert_eq!(TimeFormat::default().write(at), "2026-01-02 03:04:05");
        assert_eq!(TimeFormat::new("%d.%m.%Y").unwrap().write(at), "02.01.2026");
        assert_eq!(iso(at), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn a_time_beyond_all_calendars_is_a_number() {
        assert_eq!(TimeFormat::default().write(EpochSeconds::new(1e300)), "1e300");
        assert_eq!(TimeFormat::default().write(EpochSeconds::new(f64::INFINITY)), "inf");
        assert!(!is_in_calendar(EpochSeconds::FIRST) && is_in_calendar(EpochSeconds::new(-1.0)));
    }
}
