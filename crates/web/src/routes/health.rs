//! Whether this UI reaches Redis, for load balancers.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::Ui;

pub(crate) async fn show(ui: Ui) -> Response {
    let (status, body) = match ui.client().ping().await {
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
