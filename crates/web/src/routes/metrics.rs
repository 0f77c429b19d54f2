//! Numbers for Prometheus (PROM-01, PROM-02): the gem's eight, and ours.

mod collector;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use cogworker_client::{ProcessState, QueueInfo, Stats};
use cogworker_core::formats::Durations;
use cogworker_core::redis::RedisError;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::time::timeout;
use tracing::warn;

use crate::Ui;
use crate::error::WebError;
use crate::frame::PROBE_LIMIT;

const OPEN_METRICS: &str = "application/openmetrics-text";

/// What was read for one scrape.
#[derive(Debug)]
pub(crate) struct Snapshot {
    stats: Stats,
    queues: Vec<QueueInfo>,
    processes: Vec<ProcessState>,
    /// How late the first scheduled job is; zero when it is not due yet, or there is none.
    scheduled_lateness: Duration,
    durations: BTreeMap<String, Durations>,
    round_trip: Duration,
}

pub(crate) async fn show(ui: Ui, headers: HeaderMap) -> Result<Response, WebError> {
    if !ui.shared.options.metrics {
        return Err(WebError::NotFound);
    }
    // An outage is told as one: no series of a job system that is empty (P-54).
    let snapshot = match timeout(PROBE_LIMIT, read(&ui)).await {
        Ok(Ok(snapshot)) => Some(snapshot),
        Ok(Err(error)) => {
            warn!("failed to read what the metrics tell: failed to {error}");
            None
        }
        Err(_) => {
            warn!("failed to read what the metrics tell: nothing came within {PROBE_LIMIT:?}");
            None
        }
    };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(collector::Numbers { snapshot, at: ui.now }));
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| WebError::Render(error.to_string()))?;
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let content_type = if accepted.contains(OPEN_METRICS) {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}

async fn read(ui: &Ui) -> Result<Snapshot, RedisError> {
    let client = ui.client();
    let schedule = client.schedule();
    let (round_trip, stats, queues, processes, next, durations) = tokio::try_join!(
        client.ping(),
        client.stats(),
        client.queues(),
        client.process_states(),
        schedule.page(0, 1),
        client.run_durations()
    )?;
    let due = next.entries.first().map(|entry| entry.score);
    let scheduled_lateness = due.map_or(Duration::ZERO, |due| ui.now.since(due));
    Ok(Snapshot { stats, queues, processes, scheduled_lateness, durations, round_trip })
}
