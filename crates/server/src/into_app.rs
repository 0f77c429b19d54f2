//! What builds an application may give.

use crate::app::App;
use crate::job_error::BoxError;

/// What the function given to [`main`](crate::main) may return: an [`App`], or a `Result` of one with any error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an application may be built to",
    note = "return an `App`, or a `Result<App, E>` with any error type `E`"
)]
pub trait IntoApp {
    /// What its handlers share.
    type State: Send + Sync + 'static;

    /// The application.
    ///
    /// # Errors
    /// When it could not be built.
    fn into_app(self) -> Result<App<Self::State>, BoxError>;
}

impl<S: Send + Sync + 'static> IntoApp for App<S> {
    type State = S;

    fn into_app(self) -> Result<App<S>, BoxError> {
        Ok(self)
    }
}

impl<S: Send + Sync + 'static, E: Into<BoxError>> IntoApp for Result<App<S>, E> {
    type State = S;

    fn into_app(self) -> Result<App<S>, BoxError> {
        self.map_err(Into::into)
    }
}
