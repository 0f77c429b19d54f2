//! What an action came to, told once.

use axum_extra::extract::cookie::{Cookie, SameSite};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The cookie that carries a message over the redirect, for browsers without scripts.
pub(crate) const COOKIE: &str = "cogworker.notice";

/// A longer text would not fit into a cookie.
const LIMIT: usize = 600;

/// How a message is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It was done.
    Ok,
    /// It was done in part, or there was nothing to do.
    Warn,
    /// It was not done.
    Bad,
}

/// What an action came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) tone: Tone,
    /// What happened, in a few words.
    pub(crate) title: String,
    /// How many, where now, what next; may be empty.
    pub(crate) detail: String,
}

/// What could not be done and why, as a sentence. Redis ends some of its own with a full stop.
pub(crate) fn failed_to(error: impl std::fmt::Display) -> String {
    format!("Failed to {}.", error.to_string().trim_end_matches('.'))
}

impl Message {
    pub(crate) fn ok(title: impl Into<String>) -> Self {
        Self { tone: Tone::Ok, title: title.into(), detail: String::new() }
    }

    pub(crate) fn warn(title: impl Into<String>) -> Self {
        Self { tone: Tone::Warn, ..Self::ok(title) }
    }

    pub(crate) fn bad(title: impl Into<String>) -> Self {
        Self { tone: Tone::Bad, ..Self::ok(title) }
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// The icon that goes with it.
    pub(crate) fn icon(&self) -> &'static str {
        match self.tone {
            Tone::Ok => "check",
            Tone::Warn => "info",
            Tone::Bad => "alert",
        }
    }

    /// The ending of its CSS class.
    pub(crate) fn class(&self) -> &'static str {
        match self.tone {
            Tone::Ok => "ok",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
        }
    }

    pub(crate) fn to_cookie(&self, path: &str) -> Cookie<'static> {
        let short = |text: &str| text.chars().take(LIMIT).collect::<String>();
        let text = format!("{}\n{}\n{}", self.class(), short(&self.title), short(&self.detail));
        let value = utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string();
        Cookie::build((COOKIE, value)).path(path.to_owned()).http_only(true).same_site(SameSite::Lax).build()
    }

    /// Reads a cookie's value; `None` when it is no message.
    pub(crate) fn from_cookie(value: &str) -> Option<Self> {
        let text = percent_decode_str(value).decode_utf8().ok()?;
        let mut lines = text.splitn(3, '\n');
        let tone = match lines.next()? {
            "ok" => Tone::Ok,
            "warn" => Tone::Warn,
            "bad" => Tone::Bad,
            _ => return None,
        };
        Some(Self { tone, title: lines.next()?.to_owned(), detail: lines.next()?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_sentence_with_one_full_stop() {
        let full = "run EVALSHA: OOM command not allowed when used memory > 'maxmemory'.";
        assert_eq!(failed_to(full), format!("Failed to {full}"));
        assert_eq!(failed_to("find it"), "Failed to find it.");
    }

    #[test]
    fn a_message_survives_its_cookie() {
        let message = Message::bad("Could not; \"say\" é").detail("two\nlines, <b>");
        assert_eq!(Message::from_cookie(message.to_cookie("/").value()), Some(message));
        assert_eq!(Message::from_cookie("nonsense"), None);
        assert_eq!(Message::from_cookie("%FF"), None);
    }
}
