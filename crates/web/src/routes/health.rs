//! Whether this UI reaches Redis, for load balancers.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::Ui;
use crate::error::WebError;
use crate::frame::PROBE_LIMIT;

pub(crate) async fn show(ui: Ui) -> Response {
    let answer = match timeout(PROBE_LIMIT, ui.client().ping()).await {
        Ok(answer) => answer.map_err(WebError::from),
        Err(_) => Err(WebError::Slow(PROBE_LIMIT)),
    };
    let (status, body) = match answer {
        Ok(took) => {
            (StatusCode::OK, format!("{{\"redis\":true,\"round_trip_ms\":{:.3}}}", took.as_secs_f64() * 1e3))
        }
        Err(error) => {
            let error = serde_json::Value::from(format!("failed to {error}"));
            (StatusCode::SERVICE_UNAVAILABLE, format!("{{\"redis\":false,\"error\":{error}}}"))
        }
    };
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
