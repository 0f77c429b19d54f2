//! A group of failures, as a row.

use cogworker_client::failures::FailureGroup;
use cogworker_core::time::EpochSeconds;

use super::query::{ErrorsQuery, Scope};
use crate::Ui;
use crate::display;
use crate::markup::Markup;
use crate::routes::jobs::{JobsQuery, State};

/// A group is new for so long.
pub(super) const NEW_FOR: f64 = 3600.0;
/// Classes that are named in a row; the others are counted.
const SHOWN_NAMES: usize = 2;

pub(super) struct GroupRow {
    pub(super) id: String,
    pub(super) error_class: String,
    pub(super) pattern: String,
    pub(super) title: String,
    pub(super) message: Markup,
    pub(super) is_new: bool,
    pub(super) classes: String,
    pub(super) queues: String,
    pub(super) bars: Vec<(usize, String, bool)>,
    pub(super) newest_hour: u64,
    pub(super) retrying: u64,
    pub(super) dead: u64,
    pub(super) retrying_href: String,
    pub(super) dead_href: String,
    pub(super) href: String,
    pub(super) first_seen: Option<EpochSeconds>,
    pub(super) last_seen: Option<EpochSeconds>,
}

impl GroupRow {
    pub(super) fn new(ui: &Ui, query: &ErrorsQuery, group: &FailureGroup) -> Self {
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

    pub(super) fn total(&self) -> u64 {
        self.retrying + self.dead
    }

    pub(super) fn jobs(&self) -> String {
        display::counted(self.total(), "job", "jobs")
    }

    pub(super) fn retry_label(&self) -> String {
        format!("Retry {}", display::number(self.total()))
    }

    pub(super) fn delete_label(&self) -> String {
        format!("Delete {} with {}…", self.jobs(), self.title)
    }
}

pub(super) fn in_scope(scope: Scope, group: &FailureGroup) -> (u64, u64) {
    match scope {
        Scope::Both => (group.counts.retrying, group.counts.dead),
        Scope::Retry => (group.counts.retrying, 0),
        Scope::Dead => (0, group.counts.dead),
    }
}

/// The first names, and how many more there are.
pub(super) fn names<'a>(all: impl ExactSizeIterator<Item = &'a String>) -> String {
    let others = all.len().saturating_sub(SHOWN_NAMES);
    let named =
        |name: &String| if name.is_empty() { "(none)".to_owned() } else { display::shortened(name, 60) };
    let shown: Vec<String> = all.take(SHOWN_NAMES).map(named).collect();
    let shown = shown.join(", ");
    if others == 0 { shown } else { format!("{shown}, + {others}") }
}

/// A message with its levelled parts marked.
pub(super) fn levelled(message: &str) -> Markup {
    let mut markup = Markup::default();
    let mut rest = message;
    while let Some(at) = rest.find(['N', '…']) {
        let part = if rest[at..].starts_with('N') { "N" } else { "…" };
        let alone = |side: Option<char>| side.is_none_or(|c| !c.is_alphanumeric());
        let end = at + part.len();
        if part == "…" || alone(rest[..at].chars().next_back()) && alone(rest[end..].chars().next()) {
            markup.text(&rest[..at]).html("<i>").text(part).html("</i>");
        } else {
            markup.text(&rest[..end]);
        }
        rest = &rest[end..];
    }
    markup.text(rest);
    markup
}

/// For each hour its place, its bar's height and whether there is one, in a box of 120 by 24.
pub(super) fn bars(hours: &[u64]) -> Vec<(usize, String, bool)> {
    let most = hours.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bar = |(at, count): (usize, &u64)| match count {
        0 => (at * 5, "1".to_owned(), false),
        count => (at * 5, format!("{:.1}", (*count as f64 / most * 24.0).max(3.0)), true),
    };
    hours.iter().enumerate().map(bar).collect()
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
