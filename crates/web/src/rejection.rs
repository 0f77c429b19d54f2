//! Why a handler got no argument of this UI.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use thiserror::Error;

/// A handler asked for a [`Ui`](crate::Ui) or a [`Session`](crate::Session) that its request does not have: answered
/// with 500 and this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UiRejection(&'static str);

impl UiRejection {
    pub(crate) const OUTSIDE: Self = Self("this handler is outside of the Cogworker UI");
    pub(crate) const NO_SESSION: Self = Self("there is no session: it is switched off");
}

impl IntoResponse for UiRejection {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0).into_response()
    }
}
