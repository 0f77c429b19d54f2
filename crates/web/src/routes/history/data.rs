//! Runs as data, for the grid: a part of them, in its order and by its filters (WEBH-05 to WEBH-13).

use axum::extract::RawQuery;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use cogworker_client::history::{Column, Condition, Direction, HistoryQuery, RUNS_PER_PAGE};
use cogworker_core::formats::EndedRun;
use serde_json::{Value, json};

use super::query::{RunsQuery, column};
use crate::Ui;
use crate::error::WebError;
use crate::form::Fields;

/// A filter of more conditions is nobody's.
const MOST_CONDITIONS: usize = 20;

pub(super) async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    let start = fields.number("start").unwrap_or(0).min(1 << 30) as usize;
    let end = fields.number("end").unwrap_or(start as u64 + ui.shared.options.history_per_page as u64);
    let count = (end.saturating_sub(start as u64)).min(RUNS_PER_PAGE as u64) as usize;
    let mut search = RunsQuery::new(&fields).search(&ui);
    for (column, direction) in order(fields.get("sort")) {
        search = search.sort(column, direction);
    }
    search = filtered(search, fields.get("filter")).range(start, count);
    let page = ui.client().history().find(&search).await?;
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
    columns.iter().take(MOST_CONDITIONS).filter_map(read).collect()
}

fn filtered(mut search: HistoryQuery, text: Option<&str>) -> HistoryQuery {
    let parsed = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(Value::Object(filters)) = parsed else { return search };
    for (name, filter) in &filters {
        let Some(column) = column(name) else { continue };
        let (conditions, any) = conditions(filter);
        search = if any { search.any_of(column, conditions) } else { search.all_of(column, conditions) };
    }
    search
}

/// The conditions of one column, and whether one of them is enough.
fn conditions(filter: &Value) -> (Vec<Condition>, bool) {
    let any = filter.get("operator").and_then(Value::as_str) == Some("OR");
    let several: Vec<&Value> = match filter.get("conditions") {
        Some(Value::Array(several)) => several.iter().collect(),
        // As older grids write it.
        _ => ["condition1", "condition2"].iter().filter_map(|name| filter.get(*name)).collect(),
    };
    let several = if several.is_empty() { vec![filter] } else { several };
    (several.into_iter().take(MOST_CONDITIONS).filter_map(condition).collect(), any)
}

fn condition(filter: &Value) -> Option<Condition> {
    let kind = filter.get("type")?.as_str()?;
    let value = filter.get("filter");
    if filter.get("filterType").and_then(Value::as_str) == Some("number") {
        let number = |value: Option<&Value>| match value? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let from = number(value);
        return Some(match kind {
            "equals" => Condition::NumberEquals(from?),
            "notEqual" => Condition::NumberNotEqual(from?),
            "lessThan" => Condition::LessThan(from?),
            "lessThanOrEqual" => Condition::LessThanOrEqual(from?),
            "greaterThan" => Condition::GreaterThan(from?),
            "greaterThanOrEqual" => Condition::GreaterThanOrEqual(from?),
            "inRange" => Condition::InRange(from?, number(filter.get("filterTo"))?),
            "blank" => Condition::Blank,
            "notBlank" => Condition::NotBlank,
            _ => return None,
        });
    }
    let text = || match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Some(match kind {
        "contains" => Condition::Contains(text()?),
        "notContains" => Condition::NotContains(text()?),
        "equals" => Condition::Equals(text()?),
        "notEqual" => Condition::NotEqual(text()?),
        "startsWith" => Condition::StartsWith(text()?),
        "endsWith" => Condition::EndsWith(text()?),
        "blank" => Condition::Blank,
        "notBlank" => Condition::NotBlank,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_order_or_filter_is_ignored_webh_10() {
        for odd in ["", "{", "[1]", "null", "[{\"colId\":\"x\",\"sort\":\"asc\"}]", "[{\"colId\":\"class\"}]"]
        {
            assert!(order(Some(odd)).is_empty(), "{odd}");
        }
        assert_eq!(
            order(Some(r#"[{"colId":"duration","sort":"asc"}]"#)),
            [(Column::Duration, Direction::Ascending)]
        );
        for odd in [
            "{}",
            "{\"type\":\"contains\"}",
            "{\"type\":\"x\",\"filter\":\"a\"}",
            "7",
            "{\"filterType\":\"number\",\"type\":\"equals\",\"filter\":\"a\"}",
        ] {
            assert!(conditions(&serde_json::from_str(odd).unwrap()).0.is_empty(), "{odd}");
        }
    }

    #[test]
    fn both_ways_to_write_several_conditions_are_read_webh_09() {
        let expected = vec![Condition::Equals("a".into()), Condition::EndsWith("b".into())];
        for text in [
            r#"{"operator":"OR","conditions":[{"type":"equals","filter":"a"},{"type":"endsWith","filter":"b"}]}"#,
            r#"{"operator":"OR","condition1":{"type":"equals","filter":"a"},"condition2":{"type":"endsWith","filter":"b"}}"#,
        ] {
            assert_eq!(conditions(&serde_json::from_str(text).unwrap()), (expected.clone(), true));
        }
    }
}
