//! Errors: what fails, grouped by class and levelled message, over the jobs that are retrying or dead.

mod query;
mod row;

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use cogworker_client::failures::{FailureCensus, FailureGroup};
use cogworker_core::time::EpochSeconds;

use self::query::{ErrorsQuery, Scope, SortKey};
use self::row::{GroupRow, NEW_FOR, in_scope};
use super::jobs::{GroupAction, act_on_group};
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::Fields;
use crate::markup::Markup;
use crate::pager::Pager;
use crate::view::view;

const PER_PAGE: usize = 25;

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/errors", get(show))
        .route("/errors/retry", post(retry))
        .route("/errors/delete", post(delete))
}

#[derive(Template)]
#[template(path = "errors.html", blocks = ["live"])]
struct ErrorsPage {
    ui: Ui,
    here: String,
    query: ErrorsQuery,
    census: std::sync::Arc<FailureCensus>,
    counted_at: EpochSeconds,
    rows: Vec<GroupRow>,
    groups: u64,
    new: usize,
    retrying: u64,
    dead: u64,
    pager: Pager,
}

view!(ErrorsPage, Errors);

async fn load(ui: &Ui, query: ErrorsQuery) -> Result<ErrorsPage, WebError> {
    let census = ui.shared.failures.get(ui.client()).await?;
    let counted_at = ui.shared.failures.began_at(&census);
    let text = query.text.as_ref().map(|text| text.to_lowercase());
    let has = |group: &FailureGroup| {
        let Some(text) = &text else { return true };
        let has = |part: &str| part.to_lowercase().contains(text);
        has(&format!("{}: {}", group.error_class, group.message))
            || has(&group.example)
            || group.classes.iter().any(|class| has(class))
    };
    let meant = |group: &&FailureGroup| {
        let (retrying, dead) = in_scope(query.scope, group);
        retrying + dead > 0 && has(group)
    };
    let mut groups: Vec<&FailureGroup> = census.groups.iter().filter(meant).collect();
    sort(&mut groups, query.sort);
    let pager = Pager::new(query.page.as_deref(), PER_PAGE, groups.len() as u64, query.list().href());
    let page = groups.iter().skip(pager.skip()).take(PER_PAGE);
    let rows: Vec<GroupRow> = page.map(|group| GroupRow::new(ui, &query, group)).collect();
    let sum =
        |count: fn((u64, u64)) -> u64| groups.iter().map(|group| count(in_scope(query.scope, group))).sum();
    let is_new = |group: &&&FailureGroup| {
        group.first_seen.is_some_and(|first| ui.now.as_f64() - first.as_f64() < NEW_FOR)
    };
    Ok(ErrorsPage {
        here: if pager.is_first() { query.list().href() } else { pager.here() },
        groups: groups.len() as u64,
        new: groups.iter().filter(is_new).count(),
        retrying: sum(|counts| counts.0),
        dead: sum(|counts| counts.1),
        rows,
        counted_at,
        pager,
        query,
        census: census.clone(),
        ui: ui.clone(),
    })
}

fn sort(groups: &mut [&FailureGroup], key: SortKey) {
    let time = |at: Option<EpochSeconds>| at.map_or(f64::NEG_INFINITY, EpochSeconds::as_f64);
    groups.sort_by(|a, b| match key {
        SortKey::Error => (&a.error_class, &a.message).cmp(&(&b.error_class, &b.message)),
        SortKey::Retrying => b.counts.retrying.cmp(&a.counts.retrying),
        SortKey::Dead => b.counts.dead.cmp(&a.counts.dead),
        SortKey::FirstSeen => time(b.first_seen).total_cmp(&time(a.first_seen)),
        SortKey::LastSeen => time(b.last_seen).total_cmp(&time(a.last_seen)),
    });
}

async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    ui.show(&load(&ui, ErrorsQuery::new(&fields)).await?).await
}

async fn retry(ui: Ui, body: Bytes) -> Result<Response, WebError> {
    act(&ui, GroupAction::Retry, &Fields::from(body)).await
}

async fn delete(ui: Ui, body: Bytes) -> Result<Response, WebError> {
    act(&ui, GroupAction::Delete, &Fields::from(body)).await
}

/// To all jobs of a group, as far as the view that it was clicked in shows them.
async fn act(ui: &Ui, action: GroupAction, fields: &Fields) -> Result<Response, WebError> {
    // An empty one is a group as well; none is a form of somebody else's.
    let (Some(error_class), Some(message)) = (fields.all("error_class").next(), fields.all("message").next())
    else {
        return Err(WebError::BadRequest("the fields error_class and message are missing".into()));
    };
    let query = ErrorsQuery::new(&Fields::parse(fields.get("view").unwrap_or_default().as_bytes()));
    let told =
        act_on_group(ui, action, query.scope.states(), error_class, message, fields.counted_at()).await;
    ui.shared.failures.forget();
    let back = query.href();
    ui.done(told, &back, load(ui, query)).await
}

impl ErrorsPage {
    fn summary(&self) -> String {
        let groups = display::counted(self.groups, "group", "groups");
        let jobs = display::counted(self.retrying + self.dead, "job", "jobs");
        match self.new {
            0 => format!("{groups} over {jobs}"),
            new => format!("{groups} over {jobs}; {new} began in the last hour"),
        }
    }

    fn scopes(&self) -> [(Scope, u64); 3] {
        let sum = |scope: Scope| {
            let counts = self.census.groups.iter().map(|group| in_scope(scope, group));
            counts.map(|(retrying, dead)| retrying + dead).sum()
        };
        Scope::ALL.map(|scope| (scope, sum(scope)))
    }

    fn head(&self, key: &SortKey, label: &str, classes: &str) -> Markup {
        let mut head = Markup::raw("<th role=\"columnheader\" scope=\"col\" class=\"");
        head.text(classes).html("\"");
        let is_current = self.query.sort == *key;
        if is_current {
            head.html(if key.is_descending() {
                " aria-sort=\"descending\""
            } else {
                " aria-sort=\"ascending\""
            });
        }
        let href = ErrorsQuery { sort: *key, ..self.query.list() }.href();
        head.html("><a href=\"").text(self.ui.root()).text(href).html("\">").text(label);
        if is_current {
            head.html(&self.ui.icon("sort").to_string());
        }
        head.ending("</a></th>")
    }

    fn how_far(&self) -> String {
        let number = display::number;
        let FailureCensus { searched, total, .. } = *self.census;
        match self.census.is_complete {
            true => format!("Looked at all {} entries.", number(searched)),
            false => format!(
                "Looked at {} of {} entries: the next due and the newest dead.",
                number(searched),
                number(total)
            ),
        }
    }

    fn empty_title(&self) -> &'static str {
        if self.query.text.is_some() { "No error matches" } else { "No errors" }
    }

    fn empty_why(&self) -> String {
        match (&self.query.text, self.query.scope) {
            (Some(_), _) => self.how_far(),
            (None, Scope::Both) => "Nothing is retrying and nothing is dead.".to_owned(),
            (None, Scope::Retry) => "Nothing is retrying.".to_owned(),
            (None, Scope::Dead) => "Nothing is dead.".to_owned(),
        }
    }

    fn view_query(&self) -> String {
        self.query.href().split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    /// What each form of a group says.
    fn fields(&self, row: &GroupRow) -> Markup {
        let mut fields = Markup::default();
        for (name, value) in
            [("view", &self.view_query()), ("error_class", &row.error_class), ("message", &row.pattern)]
        {
            fields
                .html("<input type=\"hidden\" name=\"")
                .text(name)
                .html("\" value=\"")
                .text(value)
                .html("\">");
        }
        fields.html(&self.ui.counted_at(&self.counted_at).to_string());
        fields
    }

    fn error_head(&self) -> Markup {
        self.head(&SortKey::Error, "Error", "")
    }

    fn retrying_head(&self) -> Markup {
        self.head(&SortKey::Retrying, "Retrying", "num")
    }

    fn dead_head(&self) -> Markup {
        self.head(&SortKey::Dead, "Dead", "num")
    }

    fn first_head(&self) -> Markup {
        self.head(&SortKey::FirstSeen, "First seen", "")
    }

    fn last_head(&self) -> Markup {
        self.head(&SortKey::LastSeen, "Last seen", "p3")
    }
}
