//! What a failed run leaves behind.

use std::error::Error;
use std::fmt::Write;

/// Messages are stored up to so many characters (RETRY-11).
pub const MESSAGE_LIMIT: usize = 10_000;

/// A failed run: a class name and a message as they are stored, and lines that tell where it
/// came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stored as `error_class`.
    pub class: String,
    /// Stored as `error_message`.
    pub message: String,
    /// Outermost first.
    pub backtrace: Vec<String>,
}

impl Failure {
    /// A failure without a backtrace.
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class: class.into(), message: message.into(), backtrace: Vec::new() }
    }

    /// A failure of the class named after the error's type, with its sources as backtrace.
    pub fn from_error<E: Error + 'static>(error: &E) -> Self {
        Self::from_dyn(std::any::type_name::<E>(), error)
    }

    /// Like [`from_error`](Self::from_error), where only the type's name is known.
    pub fn from_dyn(type_name: &str, error: &(dyn Error + 'static)) -> Self {
        let mut backtrace = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            backtrace.push(format!("caused by: {cause}"));
            source = cause.source();
        }
        let class = short_name(type_name).to_owned();
        // `to_string` panics when the error's own `Display` fails (RETRY-08).
        let mut message = String::new();
        if write!(message, "{error}").is_err() {
            message = format!("#<{class}>");
        }
        Self { class, message, backtrace }
    }

    /// A job that panicked.
    pub fn panic(message: &str, place: Option<&str>) -> Self {
        let backtrace = place.map(|place| vec![format!("panicked at {place}")]).unwrap_or_default();
        Self { class: "Panic".into(), message: message.into(), backtrace }
    }

    /// Args that do not fit the job's type.
    pub fn bad_args(message: &str) -> Self {
        Self::new("ArgumentError", message)
    }

    /// A class without a handler here. The message begins as the gem's and names the nearest
    /// known classes.
    pub fn unknown_class<'a>(class: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let mut near: Vec<(usize, &str)> = known
            .map(|name| (distance(class, name), name))
            .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(2))
            .collect();
        near.sort_unstable();
        let near: Vec<&str> = near.into_iter().take(3).map(|(_, name)| name).collect();
        let mut message = format!("uninitialized constant {class}");
        if class.is_empty() {
            message = "the job names no class".into();
        } else if near.is_empty() {
            message.push_str(" (no handler is registered for it)");
        } else {
            message.push_str(&format!(
                " (no handler is registered for it; did you mean {}?)",
                near.join(" or ")
            ));
        }
        Self::new("NameError", message)
    }
}

/// A type's own name: without its path and its parameters.
fn short_name(type_name: &str) -> &str {
    let plain = type_name.split('<').next().unwrap_or(type_name);
    let short = plain.rsplit("::").next().unwrap_or(plain).trim();
    if short.is_empty() || short.starts_with("dyn ") || type_name.contains("dyn ") { "Error" } else { short }
}

/// The first `limit` characters.
pub(crate) fn limited(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

/// Levenshtein distance: how many characters differ.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_named_without_path_and_parameters() {
        assert_eq!(short_name("app::jobs::ImportError"), "ImportError");
        assert_eq!(short_name("app::Wrapped<std::io::Error>"), "Wrapped");
        assert_eq!(short_name("alloc::boxed::Box<dyn core::error::Error + Send + Sync>"), "Error");
        assert_eq!(short_name("anyhow::Error"), "Error");
    }

    #[test]
    fn an_unknown_class_names_the_nearest_known_ones() {
        let known = ["GreetingJob", "FlakyJob", "ImportJob"];
        let failure = Failure::unknown_class("GretingJob", known.into_iter());
        assert_eq!(failure.class, "NameError");
        assert_eq!(
            failure.message,
            "uninitialized constant GretingJob (no handler is registered for it; did you mean GreetingJob?)"
        );
        let failure = Failure::unknown_class("Billing::Charge", known.into_iter());
        assert_eq!(
            failure.message,
            "uninitialized constant Billing::Charge (no handler is registered for it)"
        );
    }

    #[test]
    fn a_message_is_cut_by_characters_retry_10() {
        assert_eq!(limited("abcdef", 3), "abc");
        assert_eq!(limited("ééé", 2), "éé");
        assert_eq!(limited("ab", 3), "ab");
    }
}
