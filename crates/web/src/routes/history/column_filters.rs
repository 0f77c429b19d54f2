//! The filters of the grid's columns, as it writes them: a part of the address, which the table heeds too (WEBH-09).

use cogworker_client::history::{Column, Condition, HistoryQuery};
use serde_json::{Map, Value};

use super::query::column;

/// A filter of more conditions is nobody's.
const MOST_CONDITIONS: usize = 20;
/// A longer text is none that somebody wrote into a filter.
const LONGEST: usize = 4000;

/// By column, those that mean something.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ColumnFilters(Map<String, Value>);

impl ColumnFilters {
    /// What is no filter is left out (WEBH-10).
    pub(super) fn parse(text: Option<&str>) -> Self {
        let text = text.filter(|text| text.len() <= LONGEST);
        let parsed = text.and_then(|text| serde_json::from_str(text).ok());
        let Some(Value::Object(mut filters)) = parsed else { return Self::default() };
        filters.retain(|name, filter| column(name).is_some() && !conditions(filter).0.is_empty());
        Self(filters)
    }

    /// As the address and the grid have it; `None` when there is none.
    pub(super) fn text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| Value::Object(self.0.clone()).to_string())
    }

    /// What it begins with: the grid has a filter for each of these columns, and for each kind of condition of them.
    pub(super) fn in_grid(&self) -> Option<String> {
        let fits = |(name, filter): &(&String, &Value)| {
            let is_number = column(name) == Some(Column::Duration);
            !matches!(column(name), Some(Column::FinishedAt | Column::Status))
                && conditions(filter).0.iter().all(|condition| is_of_numbers(condition) == is_number)
        };
        let filters = self.0.iter().filter(fits).map(|(name, filter)| (name.clone(), filter.clone()));
        Self(filters.collect()).text()
    }

    pub(super) fn apply(&self, mut search: HistoryQuery) -> HistoryQuery {
        for (name, filter) in &self.0 {
            let Some(column) = column(name) else { continue };
            let (conditions, any) = conditions(filter);
            search = if any { search.any_of(column, conditions) } else { search.all_of(column, conditions) };
        }
        search
    }

    /// The columns, in a word each.
    pub(super) fn names(&self) -> Option<String> {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

fn is_of_numbers(condition: &Condition) -> bool {
    matches!(
        condition,
        Condition::NumberEquals(_)
            | Condition::NumberNotEqual(_)
            | Condition::LessThan(_)
            | Condition::LessThanOrEqual(_)
            | Condition::GreaterThan(_)
            | Condition::GreaterThanOrEqual(_)
            | Condition::InRange(..)
    )
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
    fn what_is_no_filter_is_ignored_webh_10() {
        for odd in [
            "{}",
            "{\"type\":\"contains\"}",
            "{\"type\":\"x\",\"filter\":\"a\"}",
            "7",
            "{\"filterType\":\"number\",\"type\":\"equals\",\"filter\":\"a\"}",
        ] {
            assert!(conditions(&serde_json::from_str(odd).unwrap()).0.is_empty(), "{odd}");
            assert_eq!(ColumnFilters::parse(Some(&format!("{{\"class\":{odd}}}"))).text(), None, "{odd}");
        }
        for odd in ["", "{", "[1]", "null", "{\"color\":{\"type\":\"blank\"}}"] {
            assert_eq!(ColumnFilters::parse(Some(odd)), ColumnFilters::default(), "{odd}");
        }
        let long = format!(r#"{{"class":{{"type":"contains","filter":"{}"}}}}"#, "x".repeat(LONGEST));
        assert_eq!(ColumnFilters::parse(Some(&long)), ColumnFilters::default());
    }

    #[test]
    fn the_grid_begins_with_those_filters_that_it_has() {
        let text = r#"{"class":{"type":"contains","filter":"a"},"duration":{"filterType":"number","type":"lessThan","filter":5},"status":{"type":"equals","filter":"failed"}}"#;
        let filters = ColumnFilters::parse(Some(text));
        assert_eq!(filters.names().as_deref(), Some("class, duration, status"));
        let begins = filters.in_grid().unwrap();
        assert!(begins.contains("class") && begins.contains("duration") && !begins.contains("status"));
        let odd = r#"{"duration":{"type":"contains","filter":"5"},"class":{"filterType":"number","type":"equals","filter":5}}"#;
        assert_eq!(ColumnFilters::parse(Some(odd)).in_grid(), None);
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
