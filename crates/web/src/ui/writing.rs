//! How templates write names, counts and times.

use std::hash::{DefaultHasher, Hash, Hasher};

use cogworker_core::time::EpochSeconds;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Ui;
use crate::display;
use crate::live;
use crate::markup::Markup;
use crate::time_format::{is_in_calendar, iso};

/// What stays as it is in a path segment and in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Ui {
    /// A value as it stands in a path segment or a query.
    pub(crate) fn enc(&self, value: &str) -> String {
        encode(value)
    }

    /// A name as a path segment. Browsers take dots for steps up the path even when they are encoded, and an empty
    /// segment for none: a form names these in a field (P-38).
    pub(crate) fn segment(&self, name: &str) -> String {
        if matches!(name, "" | "." | "..") { "-".to_owned() } else { encode(name) }
    }

    /// The path of what can be done to a queue, below the root.
    pub(crate) fn queue_action(&self, queue: &str, action: &str) -> String {
        format!("/overview/{}/{action}", self.segment(queue))
    }

    /// The path of a queue's own view, below the root.
    pub(crate) fn queue_path(&self, queue: &str) -> String {
        format!("/overview?layout=b&queue={}", encode(queue))
    }

    /// The path of a queue's jobs in one state, below the root.
    pub(crate) fn jobs_path(&self, status: &str, queue: &str) -> String {
        format!("/jobs?status={status}&queue={}", encode(queue))
    }

    /// A count that leads to what it counts; zero is quiet.
    pub(crate) fn count(&self, number: &u64, path: impl std::fmt::Display) -> Markup {
        if *number == 0 {
            return Markup::raw("<span class=\"zero\">0</span>");
        }
        let mut link = Markup::raw("<a class=\"plain\" href=\"");
        link.text(&self.root).text(path).html("\">").text(display::number(*number));
        link.ending("</a>")
    }

    /// The URL of one of the UI's own files, which may be kept for ever.
    pub(crate) fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}?v={}", self.root, crate::assets::version(name))
    }

    /// An icon, which says nothing to those who cannot see it.
    pub(crate) fn icon(&self, name: &str) -> Markup {
        let mut icon = Markup::raw("<svg class=\"i\" aria-hidden=\"true\"><use href=\"");
        icon.text(self.asset("icons.svg")).html("#i-").text(name);
        icon.ending("\"/></svg>")
    }

    pub(crate) fn number(&self, number: &u64) -> String {
        display::number(*number)
    }

    /// A time in UTC, which the browser rewrites in its own zone (WEBC-13).
    pub(crate) fn time(&self, at: &EpochSeconds) -> Markup {
        let written = self.shared.options.time_format.write(*at);
        if !is_in_calendar(*at) {
            return Markup::of(written);
        }
        let mut time = Markup::raw("<time datetime=\"");
        time.text(iso(*at)).html("\" data-cw-time>").text(written);
        time.ending("</time>")
    }

    /// How long ago, or how far ahead; the browser counts on.
    pub(crate) fn relative(&self, at: &EpochSeconds) -> Markup {
        self.counted(at, "", display::relative(*at, self.now))
    }

    /// How far ahead something is that waits, with `before` in front; or that it is due, and since when.
    pub(crate) fn due(&self, at: &EpochSeconds, before: &str) -> Markup {
        let mut attribute = Markup::raw(" data-cw-due=\"");
        attribute.text(before).html("\"");
        self.counted(at, &attribute.to_string(), display::due(*at, self.now, before))
    }

    fn counted(&self, at: &EpochSeconds, attribute: &str, text: String) -> Markup {
        if !is_in_calendar(*at) {
            return Markup::of(if *at > self.now { "never" } else { "since ever" });
        }
        let mut time = Markup::raw("<time datetime=\"");
        time.text(iso(*at)).html("\" title=\"").text(self.shared.options.time_format.write(*at));
        time.html(" UTC\"").html(attribute).html(live::COUNTED_BY_BROWSER).text(text);
        time.ending("</time>")
    }

    /// The field of a form that means many jobs: when these were counted. What came later stays.
    pub(crate) fn counted_at(&self, moment: &EpochSeconds) -> Markup {
        let mut field = Markup::raw(live::COUNTED_AT);
        field.text(moment);
        field.ending("\">")
    }

    /// How long since; the browser counts on.
    pub(crate) fn elapsed(&self, since: &EpochSeconds) -> Markup {
        let mut span = Markup::raw("<span data-cw-since=\"");
        span.text(format!("{:.0}", since.as_f64().floor())).html("\"").html(live::COUNTED_BY_BROWSER);
        span.text(display::whole(display::elapsed(*since, self.now)));
        span.ending("</span>")
    }

    /// A name as part of an element's id: updates find the row again by it.
    pub(crate) fn id(&self, name: &str) -> String {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        format!("{:x}", hasher.finish())
    }
}

/// A value as it stands in a path segment or a query.
pub(crate) fn encode(value: &str) -> String {
    utf8_percent_encode(value, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_can_stand_in_a_path() {
        assert_eq!(encode("a/b:c +&%\"<é"), "a%2Fb%3Ac%20%2B%26%25%22%3C%C3%A9");
    }
}
