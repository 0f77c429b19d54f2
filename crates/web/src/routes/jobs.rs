//! Jobs: what waits, runs, is scheduled, retrying or dead; and what can be done about it.

mod actions;
mod again;
mod bulk;
mod detail;
mod listing;
mod offers;
mod place;
mod query;
mod queue_actions;
mod row;

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::Fields;
use crate::markup::Markup;
use crate::message::Message;
use crate::view::view;
use again::Again;
pub(crate) use bulk::{GroupAction, act_on_group};
use detail::Panel;
use listing::{Counts, Listing};
use query::SortKey;
pub(crate) use query::{JobsQuery, State};
use row::JobRow;

/// Says that an entry could not be put back (WEBJ-17).
const NOT_REQUEUEABLE: &str = "not_requeueable";

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/jobs", get(show))
        .route("/jobs/raw", get(raw))
        .route("/jobs/selected", post(actions::selected))
        .route("/jobs/queue/{action}", post(queue_actions::act))
        .route("/jobs/{state}/{action}", post(actions::one))
}

#[derive(Template)]
#[template(path = "jobs.html", blocks = ["live"])]
struct JobsPage {
    ui: Ui,
    query: JobsQuery,
    /// What is asked for by updates; none for what must not change by itself.
    here: Option<String>,
    counts: Vec<(State, u64)>,
    /// When they were counted.
    counted_at: EpochSeconds,
    queue_names: Vec<String>,
    /// The queue whose jobs are shown, and whether it is paused.
    queue: Option<(String, bool)>,
    listing: Listing,
    panel: Option<Panel>,
    notice: Option<Message>,
    again: Option<Again>,
}

view!(JobsPage, Jobs);

async fn load(ui: &Ui, query: JobsQuery) -> Result<JobsPage, WebError> {
    let counted_at = EpochSeconds::now();
    let counts = Counts::read(ui).await?;
    let (mut listing, panel) =
        tokio::try_join!(listing::load(ui, &query, &counts), detail::load(ui, &query, &counts))?;
    row::tell_apart(&mut listing.rows);
    let panel = panel.map(|panel| with_neighbours(panel, &listing.rows));
    let notice = (query.notice.as_deref() == Some(NOT_REQUEUEABLE)).then(actions::invalid);
    let is_first = query.from == 0 && query.page.as_deref().is_none_or(|page| page == "1");
    let again = query.again.clone();
    let query = JobsQuery { notice: None, again: None, ..query };
    Ok(JobsPage {
        here: (is_first && !query.all).then(|| query.href()),
        counts: State::ALL.iter().map(|state| (*state, counts.of(*state))).collect(),
        counted_at,
        queue_names: counts.queues.iter().take(200).map(|queue| queue.name.clone()).collect(),
        queue: query.queue.clone().filter(|_| query.state == State::Enqueued).map(|name| {
            let paused = counts.queues.iter().any(|queue| queue.name == name && queue.paused);
            (name, paused)
        }),
        listing,
        panel,
        notice,
        again,
        query,
        ui: ui.clone(),
    })
}

fn with_neighbours(panel: Panel, rows: &[JobRow]) -> Panel {
    let Panel::Job(mut detail) = panel else { return panel };
    let is_it = |row: &JobRow| {
        row.target.place == detail.target.place && row.target.entry.hash() == detail.target.entry.hash()
    };
    if let Some(at) = rows.iter().position(is_it) {
        let href = |row: &JobRow| row.href.clone();
        detail.previous = at.checked_sub(1).and_then(|at| rows.get(at)).map(href);
        detail.next = rows.get(at + 1).map(href);
    }
    Panel::Job(detail)
}

async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    ui.show(&load(&ui, JobsQuery::new(&fields).seen_in(&ui)).await?).await
}

/// A whole job, as text.
async fn raw(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    let target: place::Target =
        fields.get("entry").and_then(|it| it.parse().ok()).ok_or(WebError::NotFound)?;
    let located = target.find(ui.client()).await?.ok_or(WebError::NotFound)?;
    let job = RawJob::parse(&located.raw).ok();
    let text = detail::shown_raw(&ui, job.as_ref(), &located.raw);
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// After an action: its message, and the view that it was done from.
async fn done(ui: &Ui, message: Message, view: JobsQuery) -> Result<Response, WebError> {
    let back = match &view.again {
        Some(again) => {
            let told = again.fields().into_iter();
            told.fold(view.href(), |href, (name, value)| format!("{href}&{name}={}", ui.enc(&value)))
        }
        None => view.href(),
    };
    ui.done(message, &back, load(ui, view)).await
}

/// The one message that the gem carries in the address (WEBJ-17).
async fn not_requeueable(ui: &Ui, view: JobsQuery) -> Result<Response, WebError> {
    if ui.is_fragment() {
        return done(ui, actions::invalid(), view).await;
    }
    Ok(ui.redirect(&format!("{}&notice={NOT_REQUEUEABLE}", view.href()), None))
}

impl JobsPage {
    fn summary(&self) -> String {
        let state = self.query.state;
        let kind = |count: u64| match state {
            State::All => display::counted(count, "job", "jobs"),
            state => format!(
                "{} {} {}",
                display::number(count),
                state.word(),
                if count == 1 { "job" } else { "jobs" }
            ),
        };
        let Listing { matched, total, .. } = &self.listing;
        match matched {
            None => match (&self.query.queue, state) {
                (Some(queue), State::Enqueued) => format!("{} in {queue}", kind(*total)),
                _ => kind(*total),
            },
            Some(matched) if self.listing.is_complete() => {
                format!("{} of {} match", display::number(*matched), kind(*total))
            }
            Some(matched) => {
                let looked_at = self.listing.looked_at - self.listing.from.min(self.listing.looked_at);
                let matched = display::number(*matched);
                format!("{matched} match among {} of {}", display::number(looked_at), kind(*total))
            }
        }
    }

    fn at_label(&self) -> &'static str {
        match self.query.state {
            State::All => "At",
            State::Enqueued => "Enqueued",
            State::Running => "Started",
            State::Scheduled => "Created",
            State::Retrying => "First failed",
            State::Dead => "Died",
        }
    }

    fn has_next_run(&self) -> bool {
        matches!(self.query.state, State::All | State::Scheduled | State::Retrying)
    }

    /// The head of a sortable column.
    fn column(&self, key: &SortKey, label: &str, classes: &str) -> Markup {
        let sorted = self.query.sort.unwrap_or_else(|| self.query.natural());
        let is_current = sorted.key == *key && !(self.query.sort.is_none() && self.query.state == State::All);
        let mut head = Markup::raw("<th role=\"columnheader\" scope=\"col\" class=\"");
        head.text(classes).html("\"");
        if is_current {
            head.html(if sorted.descending {
                " aria-sort=\"descending\""
            } else {
                " aria-sort=\"ascending\""
            });
        }
        head.html("><a href=\"")
            .text(self.ui.root())
            .text(self.query.sorted(*key).href())
            .html("\">")
            .text(label);
        if is_current {
            head.html(&self.ui.icon("sort").to_string());
        }
        head.ending("</a></th>")
    }

    fn job_column(&self) -> Markup {
        self.column(&SortKey::Job, "Job", "")
    }

    fn queue_column(&self) -> Markup {
        self.column(&SortKey::Queue, "Queue", "p3")
    }

    fn status_column(&self) -> Markup {
        self.column(&SortKey::Attempt, "Status", "")
    }

    fn next_run_column(&self) -> Markup {
        self.column(&SortKey::NextRun, "Next run", "p2")
    }

    fn at_column(&self) -> Markup {
        self.column(&SortKey::At, self.at_label(), "p2")
    }

    fn list_href(&self) -> String {
        self.query.closed().href()
    }

    fn clear_href(&self) -> String {
        JobsQuery::of(self.query.state).href()
    }

    fn all_href(&self) -> String {
        JobsQuery { all: true, ..self.query.clone() }.href()
    }

    fn not_all_href(&self) -> String {
        JobsQuery { all: false, ..self.query.clone() }.href()
    }

    /// What a search box and a filter keep of the view.
    fn kept(&self, but: &str) -> Markup {
        let view = self.query.list();
        let view = view.href();
        let fields = Fields::parse(view.split_once('?').map_or("", |(_, query)| query).as_bytes());
        let mut kept = Markup::default();
        for name in ["status", "q", "queue", "class", "error", "error_class", "message", "sort"] {
            if let Some(value) = fields.get(name).filter(|_| name != but) {
                kept.html("<input type=\"hidden\" name=\"")
                    .text(name)
                    .html("\" value=\"")
                    .text(value)
                    .html("\">");
            }
        }
        kept
    }

    /// The field that brings an action back to this view.
    fn view_field(&self) -> Markup {
        let mut field = Markup::raw("<input type=\"hidden\" name=\"view\" value=\"");
        field.text(self.query.view());
        field.ending("\">")
    }

    /// The fields of a form that means all that match.
    fn all_fields(&self) -> Markup {
        let mut fields = self.view_field();
        fields.html(&self.ui.counted_at(&self.counted_at).to_string());
        fields
    }

    fn queue_field(&self, queue: &str) -> Markup {
        let mut field = self.view_field();
        field.html("<input type=\"hidden\" name=\"queue\" value=\"").text(queue);
        field.ending("\">")
    }

    fn entry_field(&self, target: &place::Target) -> Markup {
        let mut field = self.view_field();
        field.html("<input type=\"hidden\" name=\"entry\" value=\"").text(target);
        field.ending("\">")
    }

    fn empty_icon(&self) -> &'static str {
        if self.query.has_filter() { "search" } else { "check" }
    }

    fn empty_title(&self) -> String {
        match (self.query.has_filter(), self.query.state) {
            (true, State::All) => "No job matches".to_owned(),
            (true, state) => format!("No {} job matches", state.word()),
            (false, State::All) => "There are no jobs".to_owned(),
            (false, state) => format!("No job is {}", state.word()),
        }
    }

    fn empty_why(&self) -> String {
        if self.query.is_filtered() && self.listing.looked_at > 0 {
            return self.listing.how_far();
        }
        match self.query.state {
            _ if self.listing.from > 0 => "The list is shorter than that by now.",
            State::All => "A job appears here as soon as your app pushes one.",
            State::Enqueued => "Everything that was pushed has been taken.",
            State::Running => "Jobs that take less than a quarter of a second never show here.",
            State::Scheduled => "Jobs that are pushed with a time appear here until they are due.",
            State::Retrying => "No failed job waits for its next attempt.",
            State::Dead => "No job failed for good.",
        }
        .to_owned()
    }
}
