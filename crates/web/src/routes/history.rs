//! History: the runs that ended, a grid with a script and a table without.

mod column_filters;
mod data;
mod query;
mod run_times;

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::get;
use cogworker_client::history::{Column, DayCount, Direction, HistoryQuery, RunPage};
use cogworker_core::formats::{EndedRun, RunStatus};
use cogworker_core::time::{EpochSeconds, utc_day};

use crate::Ui;
use crate::days_back::DaysBack;
use crate::display;
use crate::error::WebError;
use crate::form::{Fields, Href};
use crate::markup::Markup;
use crate::pager::Pager;
use crate::view::view;
use query::{Period, RunsQuery, Sort};
use run_times::TimeTable;

const SHORT_ARGS: usize = 160;
const SHORT_ERROR: usize = 200;
/// More of a run's args is in its record.
const LONGEST_ARGS: usize = 64 << 10;
const LONGEST_TRACE: usize = 200;
/// One job's runs among which the open one is looked for.
const RUNS_OF_JOB: u64 = 200;

pub(crate) fn routes() -> Router {
    Router::new().route("/history", get(show)).route("/history/data", get(data::show))
}

#[derive(Template)]
#[template(path = "history.html", blocks = ["live"])]
struct HistoryPage {
    ui: Ui,
    query: RunsQuery,
    here: Option<String>,
    counts: [(Option<RunStatus>, u64); 3],
    rows: Vec<RunRow>,
    is_complete: bool,
    pager: Pager,
    days: Vec<DayCount>,
    times: TimeTable,
    detail: Option<RunDetail>,
    /// The run that the address names is not kept any more.
    is_gone: bool,
}

view!(
    HistoryPage,
    History,
    ["ag-grid.min.css", "ag-theme-alpine.min.css", "grid.css", "ag-grid-community.min.js", "history.js"]
);

struct RunRow {
    finished_at: EpochSeconds,
    class: String,
    queue: String,
    jid: String,
    args: String,
    failed: bool,
    duration: String,
    error: String,
    href: String,
    is_open: bool,
}

struct RunDetail {
    row: RunRow,
    started_at: EpochSeconds,
    args: String,
    error_class: String,
    error_message: String,
    trace: Vec<String>,
    others: String,
    job: String,
}

impl RunRow {
    fn new(ui: &Ui, query: &RunsQuery, run: &EndedRun) -> Self {
        Self {
            finished_at: run.finished_at,
            class: named(&run.class),
            queue: display::shortened(&run.queue, 120),
            jid: display::shortened(&run.jid, 120),
            args: display::shortened(&ui.args(&run.class, run.args.get()), SHORT_ARGS),
            failed: run.status == RunStatus::Failed,
            duration: took(run),
            error: display::shortened(&run.error(), SHORT_ERROR),
            href: query.opened(&run.jid, run.finished_at).href(),
            is_open: query.run.as_ref().is_some_and(|open| is_it(run, open)),
        }
    }
}

impl RunDetail {
    fn new(ui: &Ui, query: &RunsQuery, run: &EndedRun) -> Self {
        let lines = run.backtrace.iter().take(LONGEST_TRACE);
        Self {
            row: RunRow::new(ui, query, run),
            started_at: run.started_at,
            args: display::shortened(&ui.args(&run.class, run.args.get()), LONGEST_ARGS),
            error_class: run.error_class.clone().unwrap_or_default(),
            error_message: display::shortened(run.error_message.as_deref().unwrap_or_default(), LONGEST_ARGS),
            trace: lines.map(|line| display::shortened(line, 500)).collect(),
            others: Href::new("/history").with("jid", &run.jid).done(),
            job: Href::new("/jobs").with("selected", &run.jid).done(),
        }
    }
}

fn named(class: &str) -> String {
    if class.is_empty() { "(no class)".to_owned() } else { display::shortened(class, 120) }
}

fn took(run: &EndedRun) -> String {
    display::exactly(run.duration_ms().max(0.0) as u64)
}

fn is_it(run: &EndedRun, (jid, at): &(String, f64)) -> bool {
    run.jid == *jid && (run.finished_at.as_f64() - at).abs() < 0.0005
}

async fn load(ui: &Ui, query: RunsQuery) -> Result<HistoryPage, WebError> {
    let history = ui.client().history();
    let per_page = ui.shared.options.history_per_page.clamp(1, 200);
    let mut search = query.search(ui);
    for Sort { column, direction } in query.sort.iter().copied() {
        search = search.sort(column, direction);
    }
    let total = async |status| history.page(status, 0, 1).await.map(|page| page.total);
    let (all, success, failed) =
        tokio::try_join!(total(None), total(Some(RunStatus::Success)), total(Some(RunStatus::Failed)))?;
    // A page beyond the end is the last one, which is known only when the end is.
    let most = match query.status {
        None => all,
        Some(RunStatus::Success) => success,
        Some(_) => failed,
    };
    let href = query.list().href();
    let asked = Pager::new(query.page.as_deref(), per_page, most, href.clone());
    let part = search.clone().range(asked.skip() as u64, per_page as u64);
    let (page, days, times, open) = tokio::join!(
        history.find(&part),
        history.daily(query.days.count()),
        ui.shared.run_times.get(ui.client()),
        open_run(ui, &query)
    );
    let (mut page, days): (RunPage, Vec<DayCount>) = (page?, days?);
    let pager = Pager::new(query.page.as_deref(), per_page, page.total, href);
    if pager.skip() != asked.skip() {
        page = history.find(&search.range(pager.skip() as u64, per_page as u64)).await?;
    }
    let detail = open?.map(|run| RunDetail::new(ui, &query, &run));
    Ok(HistoryPage {
        here: pager.is_first().then(|| query.href()),
        counts: [(None, all), (Some(RunStatus::Success), success), (Some(RunStatus::Failed), failed)],
        rows: page.runs.iter().map(|run| RunRow::new(ui, &query, run)).collect(),
        is_complete: page.is_complete,
        pager,
        times: TimeTable::new(&*times?, &query),
        days: every_day(days, query.days.count(), ui.now),
        is_gone: detail.is_none() && query.run.is_some(),
        detail,
        query,
        ui: ui.clone(),
    })
}

async fn open_run(ui: &Ui, query: &RunsQuery) -> Result<Option<EndedRun>, WebError> {
    let Some(open) = &query.run else { return Ok(None) };
    let search = HistoryQuery::new().jid(&open.0).newest(50_000).range(0, RUNS_OF_JOB);
    let runs = ui.client().history().find(&search).await?.runs;
    Ok(runs.into_iter().find(|run| is_it(run, open)))
}

/// With the days on which nothing ran.
fn every_day(counts: Vec<DayCount>, days: u64, now: EpochSeconds) -> Vec<DayCount> {
    let mut all: Vec<DayCount> = Vec::new();
    let mut counts = counts.into_iter().peekable();
    for ago in (0..days).rev() {
        let day = utc_day(EpochSeconds::new(now.as_f64() - ago as f64 * 86_400.0));
        let count = counts.next_if(|count| count.day == day);
        all.push(count.unwrap_or_else(|| DayCount::new(day, 0, 0)));
    }
    all
}

async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    ui.show(&load(&ui, RunsQuery::new(&fields)).await?).await
}

impl HistoryPage {
    fn summary(&self) -> String {
        display::counted(self.counts[0].1, "run kept", "runs kept")
    }

    fn label(&self, status: &Option<RunStatus>) -> &'static str {
        match status {
            None => "All",
            Some(RunStatus::Success) => "Success",
            Some(_) => "Failed",
        }
    }

    fn periods(&self) -> [(Option<Period>, &'static str); 4] {
        let [hour, day, week] = Period::ALL.map(|period| (Some(period), period.label()));
        [(None, "Any time"), hour, day, week]
    }

    fn all_days(&self) -> [DaysBack; 4] {
        DaysBack::ALL
    }

    fn head(&self, column: Column, label: &str, classes: &str) -> Markup {
        let sort = self.query.first_sort();
        let is_current = sort.column == column;
        let mut head = Markup::raw("<th role=\"columnheader\" scope=\"col\" class=\"");
        head.text(classes).html("\"");
        if is_current {
            head.html(match sort.direction {
                Direction::Descending => " aria-sort=\"descending\"",
                Direction::Ascending => " aria-sort=\"ascending\"",
            });
        }
        let href = self.query.sorted(column).href();
        head.html("><a href=\"").text(self.ui.root()).text(href).html("\">").text(label);
        if is_current {
            head.html(&self.ui.icon("sort").to_string());
        }
        head.ending("</a></th>")
    }

    fn heads(&self) -> Markup {
        let mut heads = self.head(Column::FinishedAt, "Finished", "");
        for (column, label, classes) in [
            (Column::Class, "Class", ""),
            (Column::Queue, "Queue", "p2"),
            (Column::Jid, "JID", "p3"),
            (Column::Status, "Status", ""),
            (Column::Duration, "Duration", "num"),
            (Column::Error, "Error", "p3"),
        ] {
            heads.html(&self.head(column, label, classes).to_string());
        }
        heads
    }

    /// What a form keeps of the view, without its own fields.
    fn kept(&self) -> Markup {
        let href = self.query.list().href();
        let fields = Fields::parse(href.split_once('?').map_or("", |(_, query)| query).as_bytes());
        let mut kept = Markup::default();
        for name in ["status", "period", "filter", "sort", "days"] {
            if let Some(value) = fields.get(name) {
                kept.html("<input type=\"hidden\" name=\"")
                    .text(name)
                    .html("\" value=\"")
                    .text(value)
                    .html("\">");
            }
        }
        kept
    }

    /// The filters that the grid begins with.
    fn grid_filter(&self) -> String {
        self.query.columns.in_grid().unwrap_or_default()
    }

    /// Its order, as it stands in the address.
    fn grid_sort(&self) -> String {
        self.query.sort_text().unwrap_or_default()
    }

    fn grid_page(&self) -> usize {
        self.pager.page()
    }

    fn data_href(&self) -> String {
        self.query.list().href().replacen("/history?", "/history/data?", 1)
    }

    fn list_href(&self) -> String {
        self.query.closed().href()
    }

    fn clear_href(&self) -> String {
        RunsQuery { status: self.query.status, ..RunsQuery::default() }.href()
    }

    fn how_far(&self) -> &'static str {
        if self.is_complete {
            ""
        } else {
            "There are more runs than a search looks at: these are among the newest."
        }
    }

    fn is_kept(&self) -> bool {
        self.counts[0].1 > 0
    }

    fn most_of_a_day(&self) -> u64 {
        self.days.iter().map(|day| day.success + day.failed).max().unwrap_or(0)
    }

    fn ran(&self) -> (u64, u64) {
        (self.days.iter().map(|day| day.success).sum(), self.days.iter().map(|day| day.failed).sum())
    }

    /// For each day its place and the heights of its bars, in a box of 10 a day by 60.
    fn bars(&self) -> Vec<(usize, String, String)> {
        let most = self.most_of_a_day().max(1) as f64;
        let height = |count: u64| {
            format!("{:.1}", if count == 0 { 0.0 } else { (count as f64 / most * 60.0).max(1.0) })
        };
        let bar = |(at, day): (usize, &DayCount)| {
            (at * 10 + 1, height(day.success + day.failed), height(day.failed))
        };
        self.days.iter().enumerate().map(bar).collect()
    }

    fn bars_width(&self) -> usize {
        self.days.len() * 10
    }

    fn first_day(&self) -> &str {
        self.days.first().map_or("", |day| day.day.as_str())
    }

    fn last_day(&self) -> &str {
        self.days.last().map_or("", |day| day.day.as_str())
    }
}
