//! Errors: what fails, grouped by class and levelled message, over the jobs that are retrying or dead.

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use cogworker_client::failures::{FailureCensus, FailureGroup};
use cogworker_core::time::EpochSeconds;

use super::jobs::{GroupAction, JobsQuery, State, act_on_group};
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::{Fields, Href};
use crate::markup::Markup;
use crate::pager::Pager;
use crate::view::view;

const PER_PAGE: usize = 25;
/// A group is new for so long.
const NEW_FOR: f64 = 3600.0;
/// Classes that are named in a row; the others are counted.
const SHOWN_NAMES: usize = 2;

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/errors", get(show))
        .route("/errors/retry", post(retry))
        .route("/errors/delete", post(delete))
}

/// Which jobs count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scope {
    #[default]
    Both,
    Retry,
    Dead,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Both, Self::Retry, Self::Dead];

    fn name(self) -> &'static str {
        match self {
            Self::Both => "all",
            Self::Retry => "retry",
            Self::Dead => "dead",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Both => "Retry and Dead",
            Self::Retry => "Retry",
            Self::Dead => "Dead",
        }
    }

    fn states(self) -> &'static [State] {
        match self {
            Self::Both => &[State::Retrying, State::Dead],
            Self::Retry => &[State::Retrying],
            Self::Dead => &[State::Dead],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortKey {
    Error,
    Retrying,
    Dead,
    FirstSeen,
    LastSeen,
}

impl SortKey {
    const ALL: [Self; 5] = [Self::Error, Self::Retrying, Self::Dead, Self::FirstSeen, Self::LastSeen];

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Retrying => "retrying",
            Self::Dead => "dead",
            Self::FirstSeen => "first_seen",
            Self::LastSeen => "last_seen",
        }
    }

    /// What is most, or newest, comes first.
    fn is_descending(self) -> bool {
        self != Self::Error
    }
}

#[derive(Debug, Clone)]
struct ErrorsQuery {
    scope: Scope,
    text: Option<String>,
    sort: SortKey,
    page: Option<String>,
}

impl ErrorsQuery {
    fn new(fields: &Fields) -> Self {
        let scope =
            fields.get("in").and_then(|name| Scope::ALL.into_iter().find(|scope| scope.name() == name));
        let sort =
            fields.get("sort").and_then(|name| SortKey::ALL.into_iter().find(|key| key.name() == name));
        Self {
            scope: scope.unwrap_or_default(),
            text: fields.get("q").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned),
            sort: sort.unwrap_or(SortKey::LastSeen),
            page: fields.owned("page"),
        }
    }

    fn href(&self) -> String {
        Href::new("/errors")
            .with("in", self.scope.name())
            .with_some("q", self.text.as_ref())
            .with_some("sort", (self.sort != SortKey::LastSeen).then(|| self.sort.name()))
            .with_some("page", self.page.as_ref())
            .done()
    }

    fn list(&self) -> Self {
        Self { page: None, ..self.clone() }
    }

    fn with_scope(&self, scope: &Scope) -> Self {
        Self { scope: *scope, ..self.list() }
    }
}

#[derive(Template)]
#[template(path = "errors.html", blocks = ["live"])]
struct ErrorsPage {
    ui: Ui,
    here: String,
    query: ErrorsQuery,
    census: std::sync::Arc<FailureCensus>,
    rows: Vec<GroupRow>,
    groups: u64,
    new: usize,
    retrying: u64,
    dead: u64,
    pager: Pager,
}

view!(ErrorsPage, Errors);

struct GroupRow {
    id: String,
    error_class: String,
    pattern: String,
    title: String,
    message: Markup,
    is_new: bool,
    classes: String,
    queues: String,
    bars: Vec<(usize, String, bool)>,
    newest_hour: u64,
    retrying: u64,
    dead: u64,
    retrying_href: String,
    dead_href: String,
    href: String,
    first_seen: Option<EpochSeconds>,
    last_seen: Option<EpochSeconds>,
}

impl GroupRow {
    fn new(ui: &Ui, query: &ErrorsQuery, group: &FailureGroup) -> Self {
        let href = |state| JobsQuery::of(state).group(&group.error_class, &group.message).href();
        let counts = in_scope(query.scope, group);
        let state = if counts.0 > 0 { State::Retrying } else { State::Dead };
        let title = if group.error_class.is_empty() { "No error class" } else { &group.error_class };
        Self {
            id: ui.id(&format!("{}\0{}", group.error_class, group.message)),
            title: display::shortened(title, 200),
            message: levelled(&group.message),
            is_new: group.first_seen.is_some_and(|first| ui.now.as_f64() - first.as_f64() < NEW_FOR),
            classes: names(group.classes.iter()),
            queues: names(group.queues.iter()),
            bars: bars(&group.recent),
            newest_hour: group.recent.last().copied().unwrap_or(0),
            retrying: counts.0,
            dead: counts.1,
            retrying_href: href(State::Retrying),
            dead_href: href(State::Dead),
            href: href(state),
            first_seen: group.first_seen,
            last_seen: group.last_seen,
            error_class: group.error_class.clone(),
            pattern: group.message.clone(),
        }
    }

    fn total(&self) -> u64 {
        self.retrying + self.dead
    }

    fn jobs(&self) -> String {
        display::counted(self.total(), "job", "jobs")
    }

    fn retry_label(&self) -> String {
        format!("Retry {}", display::number(self.total()))
    }

    fn delete_label(&self) -> String {
        format!("Delete {} with {}…", self.jobs(), self.title)
    }
}

fn in_scope(scope: Scope, group: &FailureGroup) -> (u64, u64) {
    match scope {
        Scope::Both => (group.counts.retrying, group.counts.dead),
        Scope::Retry => (group.counts.retrying, 0),
        Scope::Dead => (0, group.counts.dead),
    }
}

/// The first names, and how many more there are.
fn names<'a>(all: impl ExactSizeIterator<Item = &'a String>) -> String {
    let others = all.len().saturating_sub(SHOWN_NAMES);
    let named =
        |name: &String| if name.is_empty() { "(none)".to_owned() } else { display::shortened(name, 60) };
    let shown: Vec<String> = all.take(SHOWN_NAMES).map(named).collect();
    let shown = shown.join(", ");
    if others == 0 { shown } else { format!("{shown}, + {others}") }
}

/// A message with its levelled parts marked.
fn levelled(message: &str) -> Markup {
    let mut markup = Markup::default();
    let mut rest = message;
    while let Some(at) = rest.find(['N', '…']) {
        let part = if rest[at..].starts_with('N') { "N" } else { "…" };
        let alone = |side: Option<char>| side.is_none_or(|c| !c.is_alphanumeric());
        let end = at + part.len();
        if part == "…" || alone(rest[..at].chars().next_back()) && alone(rest[end..].chars().next()) {
            markup.text(&rest[..at]).push("<i>").text(part).push("</i>");
        } else {
            markup.text(&rest[..end]);
        }
        rest = &rest[end..];
    }
    markup.text(rest);
    markup
}

/// For each hour its place, its bar's height and whether there is one, in a box of 120 by 24.
fn bars(hours: &[u64]) -> Vec<(usize, String, bool)> {
    let most = hours.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bar = |(at, count): (usize, &u64)| match count {
        0 => (at * 5, "1".to_owned(), false),
        count => (at * 5, format!("{:.1}", (*count as f64 / most * 24.0).max(3.0)), true),
    };
    hours.iter().enumerate().map(bar).collect()
}

async fn load(ui: &Ui, query: ErrorsQuery) -> Result<ErrorsPage, WebError> {
    let census = ui.shared.failures.get(ui.client()).await?;
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
    let told = act_on_group(ui, action, query.scope.states(), error_class, message).await;
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
        head.text(classes).push("\"");
        let is_current = self.query.sort == *key;
        if is_current {
            head.push(if key.is_descending() {
                " aria-sort=\"descending\""
            } else {
                " aria-sort=\"ascending\""
            });
        }
        let href = ErrorsQuery { sort: *key, ..self.query.list() }.href();
        head.push("><a href=\"").text(self.ui.root()).text(href).push("\">").text(label);
        if is_current {
            head.push(&self.ui.icon("sort").to_string());
        }
        head.raw_tail("</a></th>")
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
                .push("<input type=\"hidden\" name=\"")
                .text(name)
                .push("\" value=\"")
                .text(value)
                .push("\">");
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levelled_parts_are_marked_and_all_else_is_text_p_39() {
        let marked = |message| levelled(message).to_string();
        assert_eq!(marked("N of \"…\""), "<i>N</i> of &#34;<i>…</i>&#34;");
        assert_eq!(marked("No Name <b> N"), "No Name &#60;b&#62; <i>N</i>");
        assert_eq!(marked(""), "");
    }

    #[test]
    fn names_beyond_two_are_counted() {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(all(&["a"]).iter()), "a");
        assert_eq!(names(all(&["a", "", "c", "d"]).iter()), "a, (none), + 2");
    }
}
