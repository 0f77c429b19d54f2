//! What a failed run leaves behind.

use std::error::Error;
use std::fmt::Write;

use crate::edit_distance::edit_distance;

/// Class names are stored up to so many characters.
const CLASS_STORED: usize = 1_000;

/// Messages are stored up to so many characters (RETRY-11).
pub const MESSAGE_LIMIT: usize = 10_000;

/// An unknown class is named up to so many characters: it comes from Redis and may be anything.
const CLASS_LIMIT: usize = 200;

/// So many sources of an error are told: an error may be its own source.
const SOURCES_LIMIT: usize = 50;

/// A failed run: a class name and a message as they are stored, and lines that tell where it
/// came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
        // It is stored with every trace of the failure.
        let class = limited(&class.into(), CLASS_STORED).to_owned();
        Self { class, message: message.into(), backtrace: Vec::new() }
    }

    /// A failure of the class named after the error's type, with its sources as backtrace.
    pub fn from_error<E: Error + 'static>(error: &E) -> Self {
        Self::from_dyn(std::any::type_name::<E>(), error)
    }

    /// Like [`from_error`](Self::from_error), where only the type's name is known.
    pub fn from_dyn(type_name: &str, error: &(dyn Error + 'static)) -> Self {
        let class = short_name(type_name);
        let mut message = said_by(error).unwrap_or_else(|| format!("#<{class}>"));
        let mut backtrace = Vec::new();
        for cause in std::iter::successors(error.source(), |&cause| cause.source()).take(SOURCES_LIMIT) {
            let said = said_by(cause);
            // Many errors say their cause themselves.
            if let Some(said) = said.as_deref().filter(|said| !message.contains(said)) {
                message.push_str(": ");
                message.push_str(said);
            }
            backtrace.push(format!("caused by: {}", said.as_deref().unwrap_or("#<Error>")));
        }
        Self { class, message, backtrace }
    }

    /// The message, as far as it is stored (RETRY-11).
    #[doc(hidden)]
    pub fn limited_message(&self) -> &str {
        limited(&self.message, MESSAGE_LIMIT)
    }

    /// A job whose process died too often while it ran (DEAD-11, DEATH-07).
    #[doc(hidden)]
    pub fn process_died(max_orphanings: u32) -> Self {
        let message = format!("orphaned more than {max_orphanings} times: its process died each time");
        Self::new("Cogworker::ProcessDied", message)
    }

    /// A job that panicked.
    #[doc(hidden)]
    pub fn panic(message: &str, place: Option<&str>) -> Self {
        let backtrace = place.map(|place| vec![format!("panicked at {place}")]).unwrap_or_default();
        Self { class: "Panic".into(), message: message.into(), backtrace }
    }

    /// Args that do not fit the job's type.
    #[doc(hidden)]
    pub fn bad_args(message: &str) -> Self {
        Self::new("ArgumentError", message)
    }

    /// A class without a handler here. The message begins as the gem's and names the nearest
    /// known classes.
    #[doc(hidden)]
    pub fn unknown_class<'a>(class: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let mut near: Vec<(usize, &str)> = known
            .filter_map(|name| {
                let limit = (name.chars().count() / 3).max(2);
                edit_distance(class, name, limit).map(|distance| (distance, name))
            })
            .collect();
        near.sort_unstable();
        let near: Vec<&str> = near.into_iter().take(3).map(|(_, name)| name).collect();
        let shown = limited(class, CLASS_LIMIT);
        let cut = if shown.len() < class.len() { "…" } else { "" };
        let mut message = format!("uninitialized constant {shown}{cut}");
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

/// What an error says of itself; `None` when its `Display` fails, on which `to_string` and `format!`
/// panic (RETRY-08).
fn said_by(error: &dyn Error) -> Option<String> {
    let mut text = String::new();
    write!(text, "{error}").ok().map(|()| text)
}

/// A type's own name: without its path and its parameters. Of a type that is just called `Error`,
/// with the module that it is known by: `io::Error`, `serde_json::Error`.
fn short_name(type_name: &str) -> String {
    let plain = type_name.split('<').next().unwrap_or(type_name).trim();
    // A text or a boxed error has no class of its own.
    let is_text = matches!(plain, "alloc::string::String" | "&str");
    if plain.is_empty() || is_text || type_name.contains("dyn ") {
        return "Error".into();
    }
    match plain.rsplit_once("::") {
        Some((path, "Error")) => {
            let module = path.strip_suffix("::error").unwrap_or(path);
            format!("{}::Error", module.rsplit("::").next().unwrap_or(module))
        }
        Some((_, short)) => short.into(),
        None => plain.into(),
    }
}

/// The first `limit` characters.
pub(crate) fn limited(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_named_without_path_and_parameters() {
        assert_eq!(short_name("app::jobs::ImportError"), "ImportError");
        assert_eq!(short_name("app::Wrapped<std::io::Error>"), "Wrapped");
        assert_eq!(short_name("alloc::boxed::Box<dyn core::error::Error + Send + Sync>"), "Error");
        assert_eq!(short_name("Error"), "Error");
        assert_eq!(short_name("anyhow::Error"), "anyhow::Error");
        assert_eq!(short_name("std::io::error::Error"), "io::Error");
        assert_eq!(short_name("serde_json::error::Error"), "serde_json::Error");
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
    fn an_unknown_class_of_any_length_is_told_briefly_and_compared_with_nothing() {
        let class = "x".repeat(5_000_000);
        let known: Vec<String> = (0..100).map(|number| format!("{}{number}", "x".repeat(1000))).collect();
        let failure = Failure::unknown_class(&class, known.iter().map(String::as_str));
        let shown = &class[..CLASS_LIMIT];
        assert_eq!(
            failure.message,
            format!("uninitialized constant {shown}… (no handler is registered for it)")
        );
    }

    /// Says nothing, and is its own source.
    #[derive(Debug)]
    struct Speechless;

    impl std::fmt::Display for Speechless {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }

    impl Error for Speechless {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }

    #[test]
    fn an_error_that_cannot_be_written_and_its_sources_are_a_failure_of_its_class_retry_08() {
        let failure = Failure::from_error(&Speechless);
        assert_eq!((failure.class.as_str(), failure.message.as_str()), ("Speechless", "#<Speechless>"));
        assert_eq!(failure.backtrace, vec!["caused by: #<Error>"; SOURCES_LIMIT]);
    }

    #[derive(Debug)]
    struct Outer(&'static str, std::num::ParseIntError);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.1)
        }
    }

    #[test]
    fn a_message_tells_the_causes_once() {
        let message = |text| Failure::from_error(&Outer(text, "x".parse::<i32>().unwrap_err())).message;
        assert_eq!(message("read the amount"), "read the amount: invalid digit found in string");
        assert_eq!(
            message("read the amount (invalid digit found in string)"),
            "read the amount (invalid digit found in string)"
        );
    }

    #[test]
    fn a_message_is_cut_by_characters_retry_10() {
        assert_eq!(limited("abcdef", 3), "abc");
        assert_eq!(limited("ééé", 2), "éé");
        assert_eq!(limited("ab", 3), "ab");
    }
}
