//! The router.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use cogworker_client::Client;

use crate::confirm::LARGEST_FORM;
use crate::error::WebError;
use crate::extension;
use crate::frame::frame;
use crate::options::WebOptions;
use crate::routes;
use crate::shared::Shared;

/// The UI. Nest it where it should be, and put a layer around it that decides who may see it.
pub fn router(client: Client, options: WebOptions) -> Router {
    let shared = Arc::new(Shared::new(client, options));
    Router::new()
        .merge(routes::overview::routes())
        .merge(routes::jobs::routes())
        .merge(routes::errors::routes())
        .merge(routes::history::routes())
        .merge(routes::schedules::routes())
        .merge(routes::workers::routes())
        .route("/assets/{*file}", get(crate::assets::serve))
        .route("/preferences", post(routes::preferences))
        .route("/save_session", post(|| async { "OK" }))
        .route("/metrics", get(routes::metrics::show))
        .route("/health", get(routes::health::show))
        .merge(extension::routes(&shared))
        .fallback(|| async { WebError::NotFound })
        .method_not_allowed_fallback(|| async { WebError::NotFound })
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .layer(from_fn_with_state(shared, frame))
}
