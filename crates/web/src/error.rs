//! Why a request has no page, and the page that says so.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use cogworker_client::ClientError;
use cogworker_core::redis::RedisError;

use crate::message::failed_to;

/// Why a request has no page. [`frame`](crate::frame) turns it into one that says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum WebError {
    #[error("find such a page")]
    NotFound,
    /// The request is not as it must be; what is wrong with it.
    #[error("read the request: {0}")]
    BadRequest(String),
    /// Another site's page may have made it; why.
    #[error("accept the request: {0}")]
    Forbidden(String),
    #[error("change anything: this is read-only")]
    ReadOnly,
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// Redis did not answer in the time that somebody waits for a page.
    #[error("get redis' reply in time: nothing after {0:?}")]
    Slow(std::time::Duration),
    #[error("make the page: {0}")]
    Render(String),
}

impl From<ClientError> for WebError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Redis(error) => Self::Redis(error),
            other => Self::BadRequest(other.to_string()),
        }
    }
}

impl From<askama::Error> for WebError {
    fn from(error: askama::Error) -> Self {
        Self::Render(error.to_string())
    }
}

impl WebError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Forbidden(_) | Self::ReadOnly => StatusCode::FORBIDDEN,
            Self::Redis(error) if error.is_outage() => StatusCode::SERVICE_UNAVAILABLE,
            Self::Slow(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Redis(RedisError::OutOfMemory(_)) => StatusCode::INSUFFICIENT_STORAGE,
            Self::Redis(_) | Self::Render(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// True while Redis is away: the page then asks again by itself.
    pub(crate) fn is_outage(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }

    fn sentence(&self) -> String {
        failed_to(self)
    }

    fn icon(&self) -> &'static str {
        match self {
            Self::NotFound => "search",
            Self::Forbidden(_) | Self::ReadOnly => "lock",
            error if error.is_outage() => "plug",
            _ => "alert",
        }
    }

    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::NotFound => "There is no such page",
            Self::BadRequest(_) => "This request cannot be carried out",
            Self::Forbidden(_) => "This request was refused",
            Self::ReadOnly => "This is read-only",
            Self::Redis(RedisError::OutOfMemory(_)) => "Redis is full",
            error if error.is_outage() => "Redis does not answer",
            Self::Redis(_) => "Redis refused a command",
            _ => "This page cannot be shown",
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::NotFound => {
                "The address may be misspelt, or what it showed has moved on. The tabs above lead to everything \
                 that there is."
            }
            Self::BadRequest(_) => "Nothing was changed. Go back, load the page again and repeat it.",
            Self::Forbidden(_) => {
                "Nothing was changed. Actions are accepted from the pages of this server alone. If this is one, \
                 a proxy may have rewritten the Host header: name the origin in trusted_origin."
            }
            Self::ReadOnly => "You can look at everything; actions are switched off on this server.",
            Self::Redis(RedisError::OutOfMemory(_)) => {
                "It reached its memory limit and takes nothing new. Deleting jobs still works, and makes room."
            }
            error if error.is_outage() => {
                "Cogworker cannot read its data, so there is nothing to show yet. Workers that lost Redis keep \
                 their running jobs and reconnect by themselves. This page tries again every 5 seconds."
            }
            Self::Redis(_) => "It is up, and did not accept what this page asks for. Its answer is below.",
            _ => "This is a defect of the page, not of your jobs, which run on.",
        }
    }
}

/// Carried from a handler to the frame, which knows the root, the theme and the tabs.
impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// What stands in the frame instead of a tab.
#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorContent<'a> {
    pub(crate) ui: &'a crate::Ui,
    pub(crate) error: &'a WebError,
    pub(crate) address: String,
}

/// The same, where only a part of a page was asked for.
#[derive(Template)]
#[template(path = "toast.html")]
pub(crate) struct Toast<'a> {
    pub(crate) ui: &'a crate::Ui,
    pub(crate) message: &'a crate::message::Message,
}
