//! What Redis says of itself (WEBO-02, WEBO-03).

use askama::Template;
use axum::response::Response;

use crate::Ui;
use crate::error::WebError;

#[derive(Template)]
#[template(path = "redis.html")]
pub(super) struct RedisFacts {
    facts: Vec<(&'static str, String)>,
    /// Ever another, and so no change.
    round_trip: String,
}

impl RedisFacts {
    pub(super) fn html(&self) -> Result<String, WebError> {
        Ok(self.render()?)
    }
}

pub(super) async fn load(ui: &Ui) -> Result<RedisFacts, WebError> {
    let round_trip = format!("{:.1} ms", ui.client().ping().await?.as_secs_f64() * 1e3);
    // A user of Redis who may not ask for it has no facts, and a page all the same.
    let info = match ui.client().redis_info().await {
        Ok(info) => info,
        Err(error) if error.is_outage() => return Err(error.into()),
        Err(_) => Default::default(),
    };
    let fact = |field: &str| info.get(field).cloned().unwrap_or_else(|| "n/a".to_owned());
    Ok(RedisFacts {
        round_trip,
        facts: vec![
            ("Version", fact("redis_version")),
            ("Uptime (days)", fact("uptime_in_days")),
            ("Connections", fact("connected_clients")),
            ("Memory Usage", fact("used_memory_human")),
            ("Peak Memory Usage", fact("used_memory_peak_human")),
        ],
    })
}

pub(super) async fn show(ui: Ui) -> Result<Response, WebError> {
    ui.part(load(&ui).await?.html()?)
}
