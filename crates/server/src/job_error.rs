//! A failure with a class name of the job's own choosing.

use std::error::Error;
use std::fmt;

use cogworker_core::failure::Failure;

/// The class of [`JobError::interrupted`].
pub(crate) const INTERRUPTED: &str = "Cogworker::Interrupted";

/// Any error, boxed.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// The error type for handlers that want `?` on any error, or to choose what is stored.
///
/// A handler may return any error type at all; its short type name becomes the failure's class
/// and its `Display` the message. `JobError` is for handlers with several error types, and for
/// those that choose the class themselves:
///
/// ```
/// use cogworker_server::JobError;
///
/// fn parse(text: &str) -> Result<i64, JobError> {
///     if text.is_empty() {
///         return Err(JobError::new("EmptyInput", "no number was given"));
///     }
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("x").unwrap_err().class(), "ParseIntError");
/// ```
pub struct JobError(Failure);

impl JobError {
    /// A failure of class `class` with the text `message`.
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Failure::new(class, message))
    }

    /// Ends a run that was [asked to end](crate::Context::cancelled): its job goes back to its queue
    /// and is run again from the start, as if it had been cut off. Nothing is counted, and no retry
    /// used up. From a run that nobody asked to end it is a failure like any other.
    pub fn interrupted() -> Self {
        Self::new(INTERRUPTED, "ended because it was asked to")
    }

    /// Adds lines that tell where it came from, outermost first.
    #[must_use]
    pub fn with_backtrace(mut self, lines: Vec<String>) -> Self {
        self.0.backtrace = lines;
        self
    }

    /// The class name that is stored.
    pub fn class(&self) -> &str {
        &self.0.class
    }

    /// The message that is stored.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.class, self.0.message)
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

// Like anyhow's, this type is not itself an `Error`, so that every `Error` converts into it.
impl<E: Error + Send + Sync + 'static> From<E> for JobError {
    fn from(error: E) -> Self {
        Self(Failure::from_error(&error))
    }
}

impl JobError {
    /// From any boxed error; the class of one that is no `JobError` is the head of its `Debug`
    /// text, which for most is the type's name.
    pub fn from_boxed(error: BoxError) -> Self {
        Self(failure_of(error))
    }

    pub(crate) fn from_failure(failure: Failure) -> Self {
        Self(failure)
    }
}

/// What a boxed error is stored as.
pub(crate) fn failure_of(error: BoxError) -> Failure {
    match error.downcast::<Chosen>() {
        Ok(chosen) => chosen.0,
        Err(error) => {
            let debug = format!("{error:?}");
            let name: String = debug.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let name = match name.as_str() {
                // What tower's timeout says.
                "Elapsed" => "Timeout",
                name if name.starts_with(char::is_uppercase) => name,
                _ => "Error",
            };
            Failure::from_dyn(name, &*error)
        }
    }
}

impl From<JobError> for BoxError {
    fn from(error: JobError) -> Self {
        Box::new(Chosen(error.0))
    }
}

/// Carries a [`JobError`] through a [`BoxError`].
#[derive(Debug)]
struct Chosen(Failure);

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for Chosen {}

/// What a handler may return: nothing, or a `Result` with any error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a job handler may return",
    note = "return `()` or `Result<(), E>` with any error type `E`"
)]
pub trait JobResult: Send + 'static {
    /// The result as it is stored.
    ///
    /// # Errors
    ///
    /// The failure, where the run failed.
    fn into_result(self) -> Result<(), Failure>;
}

impl JobResult for () {
    fn into_result(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Into<BoxError> + Send + 'static> JobResult for Result<(), E> {
    fn into_result(self) -> Result<(), Failure> {
        self.map_err(|error| {
            let error: BoxError = error.into();
            match error.downcast::<Chosen>() {
                Ok(chosen) => chosen.0,
                Err(error) => Failure::from_dyn(std::any::type_name::<E>(), &*error),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_named_after_the_error_type() {
        let result: Result<(), std::num::ParseIntError> = "x".parse::<i32>().map(|_| ());
        let failure = result.into_result().unwrap_err();
        assert_eq!(failure.class, "ParseIntError");
        assert_eq!(failure.message, "invalid digit found in string");
    }

    #[test]
    fn a_text_or_a_boxed_error_has_no_class_of_its_own() {
        let class = |result: Result<(), Failure>| result.unwrap_err().class;
        assert_eq!(class(Err("a text").into_result()), "Error");
        assert_eq!(class(Err("a text".to_owned()).into_result()), "Error");
        assert_eq!(class(Err(BoxError::from("a text")).into_result()), "Error");
    }

    #[test]
    fn a_boxed_error_is_named_by_its_debug_text() {
        let boxed: BoxError = "x".parse::<i32>().unwrap_err().into();
        assert_eq!(JobError::from_boxed(boxed).class(), "ParseIntError");
        assert_eq!(JobError::from_boxed("just a text".into()).class(), "Error");
        let chosen: BoxError = JobError::new("Mine", "m").into();
        assert_eq!(JobError::from_boxed(chosen).class(), "Mine");
    }

    #[test]
    fn a_chosen_class_survives_boxing() {
        let result: Result<(), JobError> = Err(JobError::new("Billing::Declined", "no funds"));
        let failure = result.into_result().unwrap_err();
        assert_eq!((failure.class.as_str(), failure.message.as_str()), ("Billing::Declined", "no funds"));
    }
}
