//! What the History page shows, as its address says it.

use chrono::NaiveDateTime;
use cogworker_client::history::{Column, Condition, Direction, HistoryQuery};
use cogworker_core::formats::RunStatus;
use cogworker_core::time::EpochSeconds;

use super::column_filters::ColumnFilters;
use crate::Ui;
use crate::days_back::DaysBack;
use crate::form::{Fields, Href};

/// How long ago a run may have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Hour,
    Day,
    Week,
}

impl Period {
    pub(super) const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Hour => "Last hour",
            Self::Day => "24 hours",
            Self::Week => "7 days",
        }
    }

    fn seconds(self) -> f64 {
        match self {
            Self::Hour => 3600.0,
            Self::Day => 86_400.0,
            Self::Week => 7.0 * 86_400.0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) column: Column,
    pub(super) direction: Direction,
}

/// An order by more columns is nobody's.
const MOST_SORTS: usize = 8;

impl Sort {
    fn parse(text: &str) -> Option<Self> {
        let direction = if text.starts_with('-') { Direction::Descending } else { Direction::Ascending };
        column(text.trim_start_matches('-')).map(|column| Self { column, direction })
    }

    fn text(self) -> String {
        let sign = if self.direction == Direction::Descending { "-" } else { "" };
        format!("{sign}{}", name(self.column))
    }
}

/// A column by the name that addresses and the grid have for it.
pub(super) fn column(name: &str) -> Option<Column> {
    Some(match name {
        "finished_at" | "finished" => Column::FinishedAt,
        "class" => Column::Class,
        "queue" => Column::Queue,
        "jid" => Column::Jid,
        "args" => Column::Args,
        "status" => Column::Status,
        "duration" => Column::Duration,
        "error" => Column::Error,
        _ => return None,
    })
}

pub(super) fn name(column: Column) -> &'static str {
    match column {
        Column::Class => "class",
        Column::Queue => "queue",
        Column::Jid => "jid",
        Column::Args => "args",
        Column::Status => "status",
        Column::Duration => "duration",
        Column::Error => "error",
        _ => "finished_at",
    }
}

/// The address of a view.
#[derive(Debug, Clone, Default)]
pub(super) struct RunsQuery {
    pub(super) status: Option<RunStatus>,
    pub(super) jid: Option<String>,
    pub(super) class: Option<String>,
    pub(super) queue: Option<String>,
    pub(super) text: Option<String>,
    pub(super) period: Option<Period>,
    /// In UTC, as a form's field writes it: `2026-11-30T02:00`.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// Of the columns, as the grid has them.
    pub(super) columns: ColumnFilters,
    /// The first counts most; none is the newest first.
    pub(super) sort: Vec<Sort>,
    pub(super) days: DaysBack,
    pub(super) page: Option<String>,
    /// The run that is open: its job, and when it ended.
    pub(super) run: Option<(String, f64)>,
}

impl RunsQuery {
    pub(super) fn new(fields: &Fields) -> Self {
        let period =
            fields.get("period").and_then(|name| Period::ALL.into_iter().find(|it| it.name() == name));
        let days = DaysBack::from_name(fields.get("days"));
        let text = |name| fields.get(name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let time = |name| text(name).filter(|text| moment(text).is_some());
        let sort = fields.get("sort").into_iter().flat_map(|sort| sort.split(',')).filter_map(Sort::parse);
        let at = fields.get("at").and_then(|at| at.parse().ok()).filter(|at: &f64| at.is_finite());
        Self {
            status: status(fields),
            jid: text("jid"),
            class: text("class"),
            queue: text("queue"),
            text: text("q"),
            period,
            from: time("from"),
            to: time("to"),
            columns: ColumnFilters::parse(fields.get("filter")),
            sort: sort.take(MOST_SORTS).collect(),
            days,
            page: fields.owned("page"),
            run: fields.owned("run").zip(at),
        }
    }

    pub(super) fn href(&self) -> String {
        Href::new("/history")
            .with("status", self.status.map_or("all", RunStatus::name))
            .with_some("jid", self.jid.as_ref())
            .with_some("class", self.class.as_ref())
            .with_some("queue", self.queue.as_ref())
            .with_some("q", self.text.as_ref())
            .with_some("period", self.period.map(Period::name))
            .with_some("from", self.from.as_ref())
            .with_some("to", self.to.as_ref())
            .with_some("filter", self.columns.text())
            .with_some("sort", self.sort_text())
            .with_some("days", (self.days != DaysBack::default()).then(|| self.days.name()))
            .with_some("page", self.page.as_ref())
            .with_some("run", self.run.as_ref().map(|run| run.0.as_str()))
            .with_some("at", self.run.as_ref().map(|run| run.1.to_string()))
            .done()
    }

    /// The order, as it stands in the address.
    pub(super) fn sort_text(&self) -> Option<String> {
        let sort: Vec<String> = self.sort.iter().map(|sort| sort.text()).collect();
        (!sort.is_empty()).then(|| sort.join(","))
    }

    /// From the beginning, with nothing open.
    pub(super) fn list(&self) -> Self {
        Self { page: None, run: None, ..self.clone() }
    }

    pub(super) fn closed(&self) -> Self {
        Self { run: None, ..self.clone() }
    }

    pub(super) fn with_status(&self, status: &Option<RunStatus>) -> Self {
        Self { status: *status, ..self.list() }
    }

    pub(super) fn with_period(&self, period: &Option<Period>) -> Self {
        Self { period: *period, from: None, to: None, ..self.list() }
    }

    pub(super) fn with_days(&self, days: &DaysBack) -> Self {
        Self { days: *days, ..self.clone() }
    }

    pub(super) fn opened(&self, jid: &str, at: EpochSeconds) -> Self {
        Self { run: Some((jid.to_owned(), at.as_f64())), ..self.clone() }
    }

    pub(super) fn of_class(&self, class: &str) -> Self {
        Self { class: Some(class.to_owned()), ..self.list() }
    }

    pub(super) fn sorted(&self, column: Column) -> Self {
        let current = self.first_sort();
        let direction = match (current.column == column, current.direction) {
            (true, Direction::Descending) => Direction::Ascending,
            (true, Direction::Ascending) => Direction::Descending,
            (false, _) if matches!(column, Column::FinishedAt | Column::Duration) => Direction::Descending,
            (false, _) => Direction::Ascending,
        };
        Self { sort: vec![Sort { column, direction }], ..self.list() }
    }

    /// What the order begins with.
    pub(super) fn first_sort(&self) -> Sort {
        let newest = Sort { column: Column::FinishedAt, direction: Direction::Descending };
        self.sort.first().copied().unwrap_or(newest)
    }

    pub(super) fn is_filtered(&self) -> bool {
        let texts = [&self.jid, &self.class, &self.queue, &self.text, &self.from, &self.to];
        self.period.is_some() || self.columns.names().is_some() || texts.into_iter().any(Option::is_some)
    }

    /// What is asked of the history; its order and its part are added to it.
    pub(super) fn search(&self, ui: &Ui) -> HistoryQuery {
        let mut query = HistoryQuery::new();
        if ui.hides_args() {
            query = query.hide_args();
        }
        if let Some(status) = self.status {
            query = query.status(status);
        }
        if let Some(jid) = &self.jid {
            query = query.jid(jid);
        }
        if let Some(text) = &self.text {
            query = query.text(text);
        }
        let has = |text: &String| [Condition::Contains(text.clone())];
        if let Some(class) = &self.class {
            query = query.all_of(Column::Class, has(class));
        }
        if let Some(queue) = &self.queue {
            query = query.all_of(Column::Queue, has(queue));
        }
        let since = self.period.map(|period| ui.now.as_f64() - period.seconds());
        let since = since.or_else(|| moment(self.from.as_ref()?));
        let until = self.to.as_ref().and_then(|to| moment(to)).map(|to| to + 60.0);
        let since = since.map(Condition::GreaterThanOrEqual);
        let until = until.map(Condition::LessThan);
        query = self.columns.apply(query);
        query.all_of(Column::FinishedAt, since.into_iter().chain(until))
    }

    /// The active filters: what, which, and the list without it.
    pub(super) fn chips(&self) -> Vec<(&'static str, String, String)> {
        let list = self.list();
        let mut chips = Vec::new();
        let mut chip = |key, value: &Option<String>, without: Self| {
            chips.extend(value.clone().map(|value| (key, value, without.href())));
        };
        chip("Job", &self.jid, Self { jid: None, ..list.clone() });
        chip("Class", &self.class, Self { class: None, ..list.clone() });
        chip("Queue", &self.queue, Self { queue: None, ..list.clone() });
        chip("Text", &self.text, Self { text: None, ..list.clone() });
        chip("From", &self.from, Self { from: None, ..list.clone() });
        chip("To", &self.to, Self { to: None, ..list.clone() });
        chip("Columns", &self.columns.names(), Self { columns: ColumnFilters::default(), ..list });
        chips
    }
}

pub(super) fn status(fields: &Fields) -> Option<RunStatus> {
    [RunStatus::Success, RunStatus::Failed]
        .into_iter()
        .find(|status| fields.get("status") == Some(status.name()))
}

fn moment(text: &str) -> Option<f64> {
    let at = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];
    let at = at.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())?;
    Some(at.and_utc().timestamp() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> RunsQuery {
        RunsQuery::new(&Fields::parse(text.as_bytes()))
    }

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let text = "/history?status=failed&jid=j&class=A%3A%3AB&queue=a%2Fb&q=x%20y&period=day&from=2026-11-30T02%3A00&filter=%7B%22error%22%3A%7B%22filter%22%3A%22a%26b%22%2C%22type%22%3A%22contains%22%7D%7D&sort=-duration%2Cclass&days=week&page=2&run=j&at=1.5";
        assert_eq!(query(text.split_once('?').unwrap().1).href(), text);
    }

    #[test]
    fn odd_values_show_everything_p_40() {
        let odd = query("status=x&period=9999999&from=yesterday&to=&sort=color&run=j&at=nan&jid=%20");
        assert_eq!(odd.href(), "/history?status=all");
        assert!(!odd.is_filtered());
        assert_eq!(moment("1970-01-02T00:01"), Some(86_460.0));
    }
}
