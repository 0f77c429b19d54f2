//! Runs as data, for the grid: a part of them, in its order and by its filters (WEBH-05 to WEBH-13).

use axum::extract::RawQuery;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use cogworker_client::history::{Column, Direction, RUNS_PER_PAGE};
use cogworker_core::formats::EndedRun;
use serde_json::{Value, json};

use super::query::{RunsQuery, column};
use crate::Ui;
use crate::error::WebError;
use crate::form::Fields;

/// An order by more columns is nobody's.
const MOST_COLUMNS: usize = 20;

pub(super) async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    let start = fields.number("start").unwrap_or(0).min(1 << 30);
    let end = fields.number("end").unwrap_or(start + ui.shared.options.history_per_page as u64);
    let count = end.saturating_sub(start).min(RUNS_PER_PAGE);
    let mut search = RunsQuery::new(&fields).search(&ui);
    for (column, direction) in order(fields.get("sort")) {
        search = search.sort(column, direction);
    }
    let page = ui.client().history().find(&search.range(start, count)).await?;
    let rows: Vec<Value> = page.runs.iter().map(|run| row(&ui, run)).collect();
    let data = json!({ "rows": rows, "total": page.total, "complete": page.is_complete });
    Ok(([(header::CONTENT_TYPE, "application/json")], data.to_string()).into_response())
}

fn row(ui: &Ui, run: &EndedRun) -> Value {
    json!({
        "finished_at": run.finished_at.as_f64(),
        "started_at": run.started_at.as_f64(),
        "class": run.class,
        "queue": run.queue,
        "jid": run.jid,
        "args": ui.args(&run.class, run.args.get()),
        "status": run.status.name(),
        "duration": run.duration_ms(),
        "error": run.error(),
        "error_class": run.error_class,
        "error_message": run.error_message,
        "backtrace": run.backtrace,
    })
}

/// The grid's order; what is no order is ignored (WEBH-10).
fn order(text: Option<&str>) -> Vec<(Column, Direction)> {
    let parsed = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let columns = match parsed {
        Some(Value::Array(columns)) => columns,
        Some(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    };
    let read = |value: &Value| {
        let direction = match value.get("sort").or_else(|| value.get("direction"))?.as_str()? {
            "asc" => Direction::Ascending,
            "desc" => Direction::Descending,
            _ => return None,
        };
        Some((column(value.get("colId")?.as_str()?)?, direction))
    };
    columns.iter().take(MOST_COLUMNS).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_order_is_ignored_webh_10() {
        for odd in ["", "{", "[1]", "null", "[{\"colId\":\"x\",\"sort\":\"asc\"}]", "[{\"colId\":\"class\"}]"]
        {
            assert!(order(Some(odd)).is_empty(), "{odd}");
        }
        assert_eq!(
            order(Some(r#"[{"colId":"duration","sort":"asc"}]"#)),
            [(Column::Duration, Direction::Ascending)]
        );
    }
}
