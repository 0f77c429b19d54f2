//! The two charts: their data, for the script and for the tables below them.

use axum::extract::RawQuery;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use cogworker_core::time::{EpochSeconds, utc_day};
use serde::Serialize;

use super::OverviewQuery;
use crate::Ui;
use crate::days_back::DaysBack;
use crate::display;
use crate::error::WebError;
use crate::time_format::iso;

/// One hour or day.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    pub(super) begins: EpochSeconds,
    /// As it stands in the table, in UTC.
    pub(super) label: String,
    pub(super) good: u64,
    pub(super) failed: u64,
}

impl Bucket {
    pub(super) fn good(&self) -> String {
        display::number(self.good)
    }

    pub(super) fn failed(&self) -> String {
        display::number(self.failed)
    }
}

pub(super) async fn hours(ui: &Ui) -> Result<Vec<Bucket>, WebError> {
    let hours = ui.client().throughput(24).await?;
    let bucket = |hour: cogworker_client::HourCount| Bucket {
        begins: hour.begins,
        label: iso(hour.begins).get(11..16).unwrap_or_default().to_owned(),
        good: hour.processed,
        failed: hour.failed,
    };
    Ok(hours.into_iter().map(bucket).collect())
}

/// Every day, those without runs too.
pub(super) async fn days(ui: &Ui, period: DaysBack) -> Result<Vec<Bucket>, WebError> {
    let counted = ui.client().history().daily(period.count()).await?;
    let today = (ui.now.as_f64() / 86_400.0).floor() * 86_400.0;
    let bucket = |ago: u64| {
        let begins = EpochSeconds::new(today - ago as f64 * 86_400.0);
        let label = utc_day(begins);
        let count = counted.iter().find(|count| count.day == label);
        let (good, failed) = count.map_or((0, 0), |count| (count.success, count.failed));
        Bucket { begins, label, good, failed }
    };
    Ok((0..period.count()).rev().map(bucket).collect())
}

pub(super) fn sums(buckets: &[Bucket]) -> (u64, u64) {
    buckets.iter().fold((0, 0), |(good, failed), bucket| (good + bucket.good, failed + bucket.failed))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Common {
    labels: Vec<String>,
    full_dates: Vec<String>,
    /// When each bucket begins, for the browser's zone.
    times: Vec<String>,
    failed: Vec<u64>,
}

impl Common {
    fn new(buckets: &[Bucket]) -> Self {
        Self {
            labels: buckets.iter().map(|bucket| bucket.label.clone()).collect(),
            full_dates: buckets.iter().map(full_date).collect(),
            times: buckets.iter().map(|bucket| iso(bucket.begins)).collect(),
            failed: buckets.iter().map(|bucket| bucket.failed).collect(),
        }
    }
}

fn full_date(bucket: &Bucket) -> String {
    match bucket.label.len() {
        5 => format!("{} {} UTC", utc_day(bucket.begins), bucket.label),
        _ => bucket.label.clone(),
    }
}

pub(super) async fn throughput(ui: Ui) -> Result<Response, WebError> {
    #[derive(Serialize)]
    struct Throughput {
        #[serde(flatten)]
        common: Common,
        processed: Vec<u64>,
    }
    let hours = hours(&ui).await?;
    let processed = hours.iter().map(|hour| hour.good).collect();
    json(&ui, &Throughput { common: Common::new(&hours), processed })
}

pub(super) async fn runs(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let query = OverviewQuery::new(query);
    #[derive(Serialize)]
    struct Runs {
        #[serde(flatten)]
        common: Common,
        success: Vec<u64>,
    }
    let days = days(&ui, DaysBack::from_name(query.period.as_deref())).await?;
    let success = days.iter().map(|day| day.good).collect();
    json(&ui, &Runs { common: Common::new(&days), success })
}

fn json(ui: &Ui, data: &impl Serialize) -> Result<Response, WebError> {
    let text = serde_json::to_string(data).map_err(|error| WebError::Render(error.to_string()))?;
    let mut response = ui.part(text)?.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    Ok(response)
}
