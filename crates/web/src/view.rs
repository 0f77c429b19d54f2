//! What joins a tab's data and its template.

use askama::Template;

use crate::error::WebError;

/// The built-in tabs, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Overview,
    Jobs,
    Errors,
    Schedules,
    Workers,
    History,
}

impl Tab {
    pub(crate) const ALL: [Self; 6] =
        [Self::Overview, Self::Jobs, Self::Errors, Self::Schedules, Self::Workers, Self::History];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Jobs => "Jobs",
            Self::Errors => "Errors",
            Self::Schedules => "Schedules",
            Self::Workers => "Workers",
            Self::History => "History",
        }
    }

    pub(crate) fn is_current(self, current: &Option<Self>) -> bool {
        *current == Some(self)
    }

    /// The one whose label has the number of groups beside it.
    pub(crate) fn counts_errors(self) -> bool {
        self == Self::Errors
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Overview => "/overview",
            Self::Jobs => "/jobs",
            Self::Errors => "/errors",
            Self::Schedules => "/schedules",
            Self::Workers => "/workers",
            Self::History => "/history",
        }
    }
}

/// A page's data, with its template. [`view!`] makes one of a template with a block `live`, which is what a live
/// update and an action bring: everything inside the element that has `data-cw-live`.
pub(crate) trait View: Template {
    const TAB: Tab;

    /// The part that changes by itself.
    fn live_part(&self) -> Result<String, WebError>;

    /// Scripts and stylesheets that this page needs beside those that all have.
    fn assets(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Makes a [`View`] of a template with a block `live`.
macro_rules! view {
    ($page:ident, $tab:ident $(, $assets:expr)?) => {
        impl crate::view::View for $page {
            const TAB: crate::view::Tab = crate::view::Tab::$tab;

            fn live_part(&self) -> Result<String, crate::error::WebError> {
                Ok(askama::Template::render(&self.as_live())?)
            }
            $(
                fn assets(&self) -> &'static [&'static str] {
                    &$assets
                }
            )?
        }
    };
}

pub(crate) use view;
