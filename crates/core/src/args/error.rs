//! Why args could not be written or read.

/// Args that do not fit. When reading, it names the class and the position, from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
    /// The value has no JSON form.
    #[error("write the args as JSON: {reason}")]
    Unwritable {
        /// What serde says.
        reason: String,
    },
    /// An argument is of another type.
    #[error("{class} argument {position}: {reason}")]
    WrongType {
        /// The job's class.
        class: String,
        /// From 1.
        position: usize,
        /// What was found and expected.
        reason: String,
    },
    /// Too many or too few.
    #[error("{class}: expected {expected}, found {found}")]
    WrongCount {
        /// The job's class.
        class: String,
        /// How many arguments the job takes.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// Not a JSON array at all.
    #[error("{class}: expected args to be an array, found {found}")]
    NotAnArray {
        /// The job's class.
        class: String,
        /// What is there.
        found: String,
    },
}

/// "1 argument", "2 arguments".
pub(super) fn arguments(count: usize) -> String {
    if count == 1 { "1 argument".into() } else { format!("{count} arguments") }
}

/// serde_json's message without the place in the text, which means nothing to a reader.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
