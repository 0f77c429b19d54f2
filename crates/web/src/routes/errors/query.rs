//! What the Errors page shows, as its address says it.

use crate::form::{Fields, Href};
use crate::routes::jobs::State;

/// Which jobs count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Scope {
    #[default]
    Both,
    Retry,
    Dead,
}

impl Scope {
    pub(super) const ALL: [Self; 3] = [Self::Both, Self::Retry, Self::Dead];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Both => "all",
            Self::Retry => "retry",
            Self::Dead => "dead",
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Both => "Retry and Dead",
            Self::Retry => "Retry",
            Self::Dead => "Dead",
        }
    }

    pub(super) fn states(self) -> &'static [State] {
        match self {
            Self::Both => &[State::Retrying, State::Dead],
            Self::Retry => &[State::Retrying],
            Self::Dead => &[State::Dead],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortKey {
    Error,
    Retrying,
    Dead,
    FirstSeen,
    LastSeen,
}

impl SortKey {
    pub(super) const ALL: [Self; 5] =
        [Self::Error, Self::Retrying, Self::Dead, Self::FirstSeen, Self::LastSeen];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Retrying => "retrying",
            Self::Dead => "dead",
            Self::FirstSeen => "first_seen",
            Self::LastSeen => "last_seen",
        }
    }

    /// What is most, or newest, comes first.
    pub(super) fn is_descending(self) -> bool {
        self != Self::Error
    }
}

#[derive(Debug, Clone)]
pub(super) struct ErrorsQuery {
    pub(super) scope: Scope,
    pub(super) text: Option<String>,
    pub(super) sort: SortKey,
    pub(super) page: Option<String>,
}

impl ErrorsQuery {
    pub(super) fn new(fields: &Fields) -> Self {
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

    pub(super) fn href(&self) -> String {
        Href::new("/errors")
            .with("in", self.scope.name())
            .with_some("q", self.text.as_ref())
            .with_some("sort", (self.sort != SortKey::LastSeen).then(|| self.sort.name()))
            .with_some("page", self.page.as_ref())
            .done()
    }

    pub(super) fn list(&self) -> Self {
        Self { page: None, ..self.clone() }
    }

    pub(super) fn with_scope(&self, scope: &Scope) -> Self {
        Self { scope: *scope, ..self.list() }
    }
}
