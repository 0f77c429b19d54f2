//! Schedules: what comes again and again, when next, and how it went last.

use std::cmp::Reverse;

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use cogworker_client::PeriodicJob;
use cogworker_core::cron::Cron;
use cogworker_core::time::EpochSeconds;

use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::{Fields, Name};
use crate::message::Message;
use crate::pager::Pager;
use crate::schedule_runs::{LOOKED_AT, LastRun};
use crate::view::view;

const PER_PAGE: usize = 50;
/// Next runs that are told.
const NEXT_RUNS: usize = 5;
const SHORT_ARGS: usize = 160;

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/schedules", get(show))
        .route("/schedules/{pjid}/run_now", post(run_now))
        .route("/schedules/{pjid}/enable", post(enable))
        .route("/schedules/{pjid}/disable", post(disable))
}

/// What the list is narrowed to; forms carry it along (WEBS-12).
#[derive(Default, Clone)]
struct SchedulesQuery {
    q: Option<String>,
    state: Option<String>,
    sort: Option<String>,
    page: Option<String>,
}

impl SchedulesQuery {
    fn new(fields: &Fields) -> Self {
        Self {
            q: fields.owned("q"),
            state: fields.owned("state"),
            sort: fields.owned("sort"),
            page: fields.owned("page"),
        }
    }

    fn search(&self) -> &str {
        self.q.as_deref().map(str::trim).unwrap_or_default()
    }

    /// `enabled`, `disabled` or nothing.
    fn state(&self) -> &'static str {
        match self.state.as_deref() {
            Some("enabled") => "enabled",
            Some("disabled") => "disabled",
            _ => "",
        }
    }

    fn sort(&self) -> Sort {
        match self.sort.as_deref() {
            Some("class") => Sort::Class,
            Some("last_run") => Sort::LastRun,
            _ => Sort::NextRun,
        }
    }

    /// The list with another state or order, on its first page.
    fn href(&self, ui: &Ui, state: &str, sort: Sort) -> String {
        let parts = [("q", self.search()), ("state", state), ("sort", sort.name())];
        let query: Vec<String> = parts
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", ui.enc(value)))
            .collect();
        if query.is_empty() { "/schedules".to_owned() } else { format!("/schedules?{}", query.join("&")) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    NextRun,
    Class,
    LastRun,
}

impl Sort {
    /// The order that goes without saying has no name.
    fn name(self) -> &'static str {
        match self {
            Self::NextRun => "",
            Self::Class => "class",
            Self::LastRun => "last_run",
        }
    }
}

#[derive(Template)]
#[template(path = "schedules.html", blocks = ["live"])]
struct SchedulesPage {
    ui: Ui,
    here: String,
    query: SchedulesQuery,
    total: usize,
    enabled: usize,
    next: Option<EpochSeconds>,
    failed: Vec<ScheduleRow>,
    rows: Vec<ScheduleRow>,
    unreadable: Vec<String>,
    pager: Pager,
    looked_at: u64,
}

view!(SchedulesPage, Schedules);

#[derive(Clone)]
struct ScheduleRow {
    pjid: String,
    class: String,
    args: String,
    cron: String,
    words: String,
    zone: String,
    /// Empty for one that is switched off, or whose cron cannot be read.
    next: Vec<EpochSeconds>,
    /// When it comes next, or would if it were enabled: an entry keeps its place when it is switched.
    slot: Option<EpochSeconds>,
    /// The newest slot that was fired or skipped.
    last_slot: Option<EpochSeconds>,
    last_run: Option<LastRun>,
    until_executed: bool,
    running: bool,
    disabled: bool,
    is_readable: bool,
}

impl ScheduleRow {
    fn new(ui: &Ui, job: &PeriodicJob, last_run: Option<LastRun>) -> Self {
        let cron = Cron::parse(&job.cron).ok();
        let slot =
            cron.as_ref().and_then(|cron| cron.next(ui.now)).map(|slot| EpochSeconds::new(slot as f64));
        let mut next = Vec::new();
        if let Some(cron) = cron.as_ref().filter(|_| !job.disabled) {
            let mut after = ui.now;
            while let Some(slot) = cron.next(after).filter(|_| next.len() < NEXT_RUNS) {
                after = EpochSeconds::new(slot as f64);
                next.push(after);
            }
        }
        Self {
            pjid: job.pjid.clone(),
            class: job.class.clone(),
            args: display::shortened(&ui.args(&job.class, &job.args), SHORT_ARGS),
            words: cron.as_ref().and_then(Cron::in_words).unwrap_or_default(),
            zone: match &cron {
                // A zone that the cron names itself stands beside it already.
                Some(cron) if !job.cron.ends_with(cron.zone().name()) => cron.zone().name().to_owned(),
                _ => String::new(),
            },
            is_readable: cron.is_some(),
            cron: job.cron.clone(),
            next,
            slot,
            last_slot: job.last_slot,
            last_run,
            until_executed: job.until_executed,
            running: job.running.is_some(),
            disabled: job.disabled,
        }
    }

    fn matches(&self, search: &str) -> bool {
        let search = search.to_lowercase();
        [&self.class, &self.cron, &self.args, &self.words]
            .iter()
            .any(|text| text.to_lowercase().contains(&search))
    }

    /// Where its forms are sent.
    fn path(&self, action: &str) -> String {
        format!("/schedules/{}/{action}", crate::ui::encode(&self.pjid))
    }

    fn first(&self) -> Option<&EpochSeconds> {
        self.next.first()
    }

    fn later(&self) -> &[EpochSeconds] {
        self.next.get(1..).unwrap_or_default()
    }
}

impl LastRun {
    fn took(&self) -> String {
        display::duration(self.duration)
    }
}

async fn load(ui: &Ui, query: &SchedulesQuery) -> Result<SchedulesPage, WebError> {
    let periodic = ui.client().periodic();
    let (published, runs) = tokio::join!(periodic.list(), ui.shared.schedule_runs.get(ui.client()));
    let published = published?;
    // Without a history, or with a damaged one, only the last runs are missing.
    let runs = runs.unwrap_or_default();
    let last_run = |job: &PeriodicJob| runs.of(job).cloned();
    let all: Vec<ScheduleRow> =
        published.jobs.iter().map(|job| ScheduleRow::new(ui, job, last_run(job))).collect();
    let total = all.len();
    let enabled = all.iter().filter(|row| !row.disabled).count();
    let next =
        all.iter().filter_map(ScheduleRow::first).copied().min_by(|a, b| a.as_f64().total_cmp(&b.as_f64()));
    let is_failed = |row: &&ScheduleRow| !row.disabled && row.last_run.as_ref().is_some_and(|run| run.failed);
    let failed = all.iter().filter(is_failed).take(3).cloned().collect();
    let mut rows: Vec<ScheduleRow> = all
        .into_iter()
        .filter(|row| match query.state() {
            "enabled" => !row.disabled,
            "disabled" => row.disabled,
            _ => true,
        })
        .filter(|row| row.matches(query.search()))
        .collect();
    sort(&mut rows, query.sort());
    let href = query.href(ui, query.state(), query.sort());
    let pager = Pager::new(query.page.as_deref(), PER_PAGE, rows.len() as u64, href.as_str());
    let rows: Vec<_> = rows.into_iter().skip(pager.skip()).take(PER_PAGE).collect();
    Ok(SchedulesPage {
        here: if pager.is_first() { href } else { pager.here() },
        query: query.clone(),
        total,
        enabled,
        next,
        failed,
        rows,
        unreadable: published.unreadable,
        pager,
        looked_at: LOOKED_AT,
        ui: ui.clone(),
    })
}

fn sort(rows: &mut [ScheduleRow], by: Sort) {
    // What never comes stands last.
    let far = |at: Option<&EpochSeconds>| at.map_or(i64::MAX, |at| at.as_f64() as i64);
    // Equal ones in an order that stays.
    rows.sort_by(|a, b| (&a.class, &a.pjid).cmp(&(&b.class, &b.pjid)));
    match by {
        Sort::NextRun => rows.sort_by_key(|row| far(row.slot.as_ref())),
        Sort::Class => {}
        Sort::LastRun => {
            rows.sort_by_key(|row| Reverse(row.last_slot));
        }
    }
}

async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    ui.show(&load(&ui, &SchedulesQuery::new(&Fields::of_query(query))).await?).await
}

async fn done(ui: &Ui, query: &SchedulesQuery, message: Message) -> Result<Response, WebError> {
    let back = query.href(ui, query.state(), query.sort());
    ui.done(message, &back, load(ui, query)).await
}

async fn run_now(ui: Ui, Name(pjid): Name, body: Bytes) -> Result<Response, WebError> {
    let query = SchedulesQuery::new(&Fields::from(body));
    // An entry does not say on which queue its jobs go; the last of them does.
    let periodic = ui.client().periodic();
    let (published, runs) = tokio::join!(periodic.list(), ui.shared.schedule_runs.get(ui.client()));
    let entry = published?.jobs.into_iter().find(|job| job.pjid == pjid);
    let last = runs.unwrap_or_default();
    let queue = entry.as_ref().and_then(|entry| last.of(entry)).map(|run| run.queue.clone());
    let pushed = match &queue {
        Some(queue) => periodic.run_now_on(&pjid, queue).await?,
        None => periodic.run_now(&pjid).await?,
    };
    let message = match (pushed, &entry) {
        (Some(jid), Some(entry)) => {
            ui.log_action("run schedule now", &format!("{} ({pjid})", entry.class));
            let queue = queue.as_deref().unwrap_or("default");
            Message::ok(format!("{} pushed", entry.class)).detail(format!("As job {jid}, onto {queue}."))
        }
        (_, None) => Message::warn("That schedule is not there any more").detail("Nothing was pushed."),
        (None, _) => Message::warn("Nothing was pushed").detail("A client middleware stopped the job."),
    };
    done(&ui, &query, message).await
}

async fn enable(ui: Ui, Name(pjid): Name, body: Bytes) -> Result<Response, WebError> {
    let query = SchedulesQuery::new(&Fields::from(body));
    ui.client().periodic().enable(&pjid).await?;
    ui.log_action("enable schedule", &pjid);
    done(&ui, &query, Message::ok("Schedule enabled").detail("It fires with its next slot.")).await
}

async fn disable(ui: Ui, Name(pjid): Name, body: Bytes) -> Result<Response, WebError> {
    let query = SchedulesQuery::new(&Fields::from(body));
    let periodic = ui.client().periodic();
    // One that is switched off for nothing would stay so, unseen, should it ever come.
    let message = if periodic.is_published(&pjid).await? {
        periodic.disable(&pjid).await?;
        ui.log_action("disable schedule", &pjid);
        Message::ok("Schedule disabled").detail("No process fires it until it is enabled.")
    } else {
        Message::warn("That schedule is not there any more").detail("Nothing was changed.")
    };
    done(&ui, &query, message).await
}
