//! What the Jobs page shows, as its address says it.

use cogworker_client::EntryFilter;

use super::again::Again;
use super::place::{Place, Target};
use crate::Ui;
use crate::form::{Fields, Href};

/// A state, as the tabs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    All,
    Enqueued,
    Running,
    Scheduled,
    Retrying,
    Dead,
}

impl State {
    pub(crate) const ALL: [Self; 6] =
        [Self::All, Self::Enqueued, Self::Running, Self::Scheduled, Self::Retrying, Self::Dead];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Enqueued => "Enqueued",
            Self::Running => "Running",
            Self::Scheduled => "Scheduled",
            Self::Retrying => "Retrying",
            Self::Dead => "Dead",
        }
    }

    /// As it stands in a path, and in a sentence.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Enqueued => "enqueued",
            Self::Running => "running",
            Self::Scheduled => "scheduled",
            Self::Retrying => "retrying",
            Self::Dead => "dead",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// What is unknown shows everything (WEBJ-20).
    fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|state| state.name() == name).unwrap_or_default()
    }

    pub(super) fn icon(self) -> &'static str {
        match self {
            Self::All | Self::Enqueued => "inbox",
            Self::Running => "forward",
            Self::Scheduled => "clock",
            Self::Retrying => "retry",
            Self::Dead => "skull",
        }
    }

    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Running => "st--run",
            Self::Retrying => "st--warn",
            Self::Dead => "st--bad",
            _ => "",
        }
    }

    /// True where jobs stand in a sorted set.
    pub(super) fn has_scores(self) -> bool {
        matches!(self, Self::Scheduled | Self::Retrying | Self::Dead)
    }

    /// Where its jobs are, in a sentence.
    pub(super) fn set_name(self) -> &'static str {
        match self {
            Self::Scheduled => "Scheduled",
            Self::Retrying => "Retry",
            Self::Dead => "Dead",
            _ => "its queue",
        }
    }
}

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortKey {
    Job,
    Queue,
    Attempt,
    NextRun,
    At,
}

impl SortKey {
    const ALL: [Self; 5] = [Self::Job, Self::Queue, Self::Attempt, Self::NextRun, Self::At];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Queue => "queue",
            Self::Attempt => "attempt",
            Self::NextRun => "next_run",
            Self::At => "at",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) key: SortKey,
    pub(super) descending: bool,
}

impl Sort {
    fn parse(text: &str) -> Option<Self> {
        let descending = text.starts_with('-');
        let name = text.trim_start_matches('-');
        SortKey::ALL.into_iter().find(|key| key.name() == name).map(|key| Self { key, descending })
    }

    fn text(self) -> String {
        format!("{}{}", if self.descending { "-" } else { "" }, self.key.name())
    }
}

/// The address of a view.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobsQuery {
    pub(super) state: State,
    /// In class, jid, args and error.
    pub(super) text: Option<String>,
    pub(super) queue: Option<String>,
    pub(super) class: Option<String>,
    /// A part of `Class: message`.
    pub(super) error: Option<String>,
    /// The class and the levelled message of a group of failures.
    pub(super) group: Option<(String, String)>,
    pub(super) sort: Option<Sort>,
    /// How many entries come before.
    pub(super) from: u64,
    /// Of what a search found.
    pub(super) page: Option<String>,
    /// The jid of the open detail.
    pub(super) selected: Option<String>,
    /// Exactly which entry that is.
    pub(super) entry: Option<Target>,
    /// All that match are selected.
    pub(super) all: bool,
    /// Told once.
    pub(super) notice: Option<String>,
    /// What was not done to all of them, told once too.
    pub(super) again: Option<Again>,
    /// No part of the address: what is in args is not searched.
    pub(super) hides_args: bool,
}

impl JobsQuery {
    pub(super) fn new(fields: &Fields) -> Self {
        let filter = fields.get("value").zip(fields.get("key"));
        let added = |key: &str| filter.filter(|(_, of)| *of == key).map(|(value, _)| value.to_owned());
        let group = fields.owned("error_class").or_else(|| fields.get("message").map(|_| String::new()));
        Self {
            state: fields.get("status").map(State::from_name).unwrap_or_default(),
            text: fields.get("q").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned),
            queue: added("queue").or_else(|| fields.owned("queue")),
            class: added("class").or_else(|| fields.owned("class")),
            error: added("error").or_else(|| fields.owned("error")),
            group: group.map(|class| (class, fields.owned("message").unwrap_or_default())),
            sort: fields.get("sort").and_then(Sort::parse),
            from: fields.number("from").unwrap_or(0).min(1 << 52),
            page: fields.owned("page"),
            selected: fields.owned("selected"),
            entry: fields.get("entry").and_then(|entry| entry.parse().ok()),
            all: fields.get("all").is_some(),
            notice: fields.owned("notice"),
            again: Again::of(fields),
            hides_args: false,
        }
    }

    /// As whoever looks at it may search.
    pub(super) fn seen_in(self, ui: &Ui) -> Self {
        Self { hides_args: ui.hides_args(), ..self }
    }

    /// The view that a form stood in: its field `view` is the view's query; without one the gem's fields count.
    pub(super) fn of_form(fields: &Fields) -> Self {
        match fields.get("view") {
            Some(view) => Self::new(&Fields::parse(view.as_bytes())),
            None => Self::new(fields),
        }
    }

    /// Every job of one state.
    pub(crate) fn of(state: State) -> Self {
        Self { state, ..Self::default() }
    }

    /// A group of failures.
    pub(crate) fn group(mut self, error_class: &str, message: &str) -> Self {
        self.group = Some((error_class.to_owned(), message.to_owned()));
        self
    }

    /// The address below the root, without what is told once.
    pub(crate) fn href(&self) -> String {
        let some = |text: &Option<String>| text.clone();
        let group = self.group.as_ref();
        Href::new("/jobs")
            .with("status", self.state.name())
            .with_some("q", some(&self.text))
            .with_some("queue", some(&self.queue))
            .with_some("class", some(&self.class))
            .with_some("error", some(&self.error))
            .with_some("error_class", group.map(|group| group.0.as_str()))
            .with_some("message", group.map(|group| group.1.as_str()))
            .with_some("sort", self.sort.map(Sort::text))
            .with_some("from", (self.from > 0).then(|| self.from.to_string()))
            .with_some("page", some(&self.page))
            .with_some("selected", some(&self.selected))
            .with_some("entry", self.entry.as_ref().map(ToString::to_string))
            .with_some("all", self.all.then_some("1"))
            .done()
    }

    /// The query of [`href`](Self::href), as forms carry it.
    pub(super) fn view(&self) -> String {
        self.href().split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    /// The same list from its beginning, with nothing open.
    pub(super) fn list(&self) -> Self {
        Self {
            from: 0,
            page: None,
            selected: None,
            entry: None,
            all: false,
            notice: None,
            again: None,
            ..self.clone()
        }
    }

    /// The same, with nothing open.
    pub(super) fn closed(&self) -> Self {
        Self { selected: None, entry: None, ..self.clone() }
    }

    pub(super) fn with_state(&self, state: &State) -> Self {
        Self { state: *state, sort: None, ..self.list() }
    }

    /// With a row's detail open.
    pub(super) fn opened(&self, jid: &str, entry: &Target) -> Self {
        let selected = (!jid.is_empty()).then(|| jid.to_owned());
        Self { selected, entry: Some(entry.clone()), all: false, ..self.clone() }
    }

    pub(super) fn sorted(&self, key: SortKey) -> Self {
        let current = self.sort.unwrap_or(self.natural());
        let descending = if current.key == key { !current.descending } else { key == SortKey::At };
        Self { sort: Some(Sort { key, descending }), ..self.list() }
    }

    /// The order in which the entries stand.
    pub(super) fn natural(&self) -> Sort {
        match self.state {
            State::Scheduled | State::Retrying => Sort { key: SortKey::NextRun, descending: false },
            _ => Sort { key: SortKey::At, descending: true },
        }
    }

    /// Whether entries are shown in the order in which they stand, from the usual end or the other.
    pub(super) fn reads_straight(&self) -> Option<bool> {
        let Some(sort) = self.sort else { return Some(false) };
        let natural = self.natural();
        let one_order = !matches!(self.state, State::All | State::Running);
        (one_order && sort.key == natural.key).then_some(sort.descending != natural.descending)
    }

    /// Whether what is in the entries decides.
    pub(super) fn is_filtered(&self) -> bool {
        let by_queue = self.queue.is_some() && self.state != State::Enqueued;
        by_queue
            || self.text.is_some()
            || self.class.is_some()
            || self.error.is_some()
            || self.group.is_some()
    }

    pub(super) fn has_filter(&self) -> bool {
        self.is_filtered() || self.queue.is_some()
    }

    /// Which entries at `place` are meant.
    pub(super) fn filter(&self, place: &Place) -> EntryFilter {
        let mut filter = EntryFilter::new();
        if self.hides_args {
            filter = filter.hide_args();
        }
        if let Some(text) = &self.text {
            filter = filter.text(text);
        }
        if let Some(class) = &self.class {
            filter = filter.class(class);
        }
        if let Some(error) = &self.error {
            filter = filter.error(error);
        }
        if let Some((class, message)) = &self.group {
            filter = filter.error_group(class, message);
        }
        match &self.queue {
            // A queue's jobs are those that wait in it, whatever they say of themselves.
            Some(queue) if !matches!(place, Place::Queue(_)) => filter.queue(queue),
            _ => filter,
        }
    }

    /// The active filters: what, which, and the list without it.
    pub(super) fn chips(&self) -> Vec<(&'static str, String, String)> {
        let list = self.list();
        let mut chips = Vec::new();
        let mut chip = |key, value: &Option<String>, without: Self| {
            chips.extend(value.clone().map(|value| (key, value, without.href())));
        };
        chip("Text", &self.text, Self { text: None, ..list.clone() });
        chip("Queue", &self.queue, Self { queue: None, ..list.clone() });
        chip("Class", &self.class, Self { class: None, ..list.clone() });
        chip("Error", &self.error, Self { error: None, ..list.clone() });
        let group =
            self.group.as_ref().map(|(class, message)| match (class.is_empty(), message.is_empty()) {
                (true, _) => message.clone(),
                (_, true) => class.clone(),
                _ => format!("{class}: {message}"),
            });
        chip("Error group", &group, Self { group: None, ..list });
        chips
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> JobsQuery {
        JobsQuery::new(&Fields::parse(text.as_bytes()))
    }

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let hash = "0".repeat(40);
        let text = format!(
            "status=Dead&q=a%20%26b&queue=a%2Fb&class=%C3%A9&error=E&error_class=E&message=N%20s&sort=-job&from=50&page=2&selected=j&entry=d%3A{hash}%3A7%3A1.5"
        );
        assert_eq!(query(&text).view(), text);
    }

    #[test]
    fn odd_values_show_everything_from_the_beginning_p_40() {
        let odd = query("status=Nope&status=Dead&sort=color&from=-3&entry=x&page=&selected=&q=%20");
        assert_eq!(odd.href(), "/jobs?status=All");
        assert_eq!(query("from=99999999999999999999999").from, 1 << 52);
    }

    #[test]
    fn an_added_filter_takes_the_place_of_the_one_before() {
        assert_eq!(query("queue=a&key=queue&value=b").queue.as_deref(), Some("b"));
        assert_eq!(query("queue=a&key=class&value=B").chips().len(), 2);
        assert_eq!(query("queue=a&key=class&value=").chips().len(), 1);
    }

    #[test]
    fn the_notice_is_not_part_of_the_view_webj_17() {
        assert_eq!(query("status=Dead&notice=not_requeueable").href(), "/jobs?status=Dead");
    }
}
