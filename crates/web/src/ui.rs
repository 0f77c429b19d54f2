//! A request, as pages see it: where links begin, what the browser prefers, and how everything is written.

mod writing;

use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum_extra::extract::CookieJar;
use cogworker_client::Client;
use cogworker_core::time::EpochSeconds;
use tracing::info;

use crate::display;
use crate::error::{Toast, WebError};
use crate::extension::ExtraTab;
use crate::live;
use crate::markup::Markup;
use crate::message::{self, Message};
use crate::operator::Operator;
use crate::preferences::Preferences;
use crate::rejection::UiRejection;
use crate::routes::ClusterStatus;
use crate::shared::Shared;
use crate::time_format::iso;
use crate::view::{Tab, View};

pub(crate) use self::writing::encode;

/// The request, as pages see it. A handler of an [`Extension`](crate::Extension) takes it as an argument.
#[derive(Clone)]
pub struct Ui {
    pub(crate) shared: Arc<Shared>,
    root: String,
    /// Path and query below the root.
    here: String,
    is_fragment: bool,
    pub(crate) preferences: Preferences,
    pub(crate) notice: Option<Message>,
    operator: Option<String>,
    known: Option<String>,
    pub(crate) now: EpochSeconds,
}

impl std::fmt::Debug for Ui {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ui").field("root", &self.root).field("here", &self.here).finish_non_exhaustive()
    }
}

/// The whole page around a tab.
#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    ui: &'a Ui,
    title: &'a str,
    current: Option<Tab>,
    content: &'a str,
    status: Option<ClusterStatus>,
    /// Groups of errors; zero when there are none, or nobody knows.
    errors: usize,
    /// Asks for itself again, without scripts too.
    reload: bool,
    assets: &'static [&'static str],
}

impl<S: Sync> FromRequestParts<S> for Ui {
    type Rejection = UiRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        parts.extensions.get::<Self>().cloned().ok_or(UiRejection::OUTSIDE)
    }
}

impl Ui {
    pub(crate) fn new(shared: Arc<Shared>, parts: &Parts) -> Self {
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let original = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
        let cookies = CookieJar::from_headers(&parts.headers);
        let operator = Operator::of(parts, shared.options.operator_header.as_deref());
        Self {
            root: root(original.path(), parts.uri.path()),
            here: parts.uri.path_and_query().map_or_else(|| "/".into(), ToString::to_string),
            is_fragment: text(header::HeaderName::from_static("hx-request")).is_some_and(|hx| hx == "true"),
            preferences: Preferences::read(&parts.headers),
            notice: cookies.get(message::COOKIE).and_then(|cookie| Message::from_cookie(cookie.value())),
            operator: operator.map(|operator| operator.0),
            known: text(header::IF_NONE_MATCH),
            now: EpochSeconds::now(),
            shared,
        }
    }

    /// What stands before every path of the UI: `/admin/jobs`, or nothing.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// True when a script asks for a part of a page, which stands without a frame.
    pub fn is_fragment(&self) -> bool {
        self.is_fragment
    }

    /// True when nothing can be changed here: show no buttons.
    pub fn is_read_only(&self) -> bool {
        self.shared.options.read_only
    }

    /// The client of this UI.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Path and query of this request, below the root.
    pub(crate) fn here(&self) -> &str {
        &self.here
    }

    /// The path that cookies belong to.
    pub(crate) fn cookie_path(&self) -> &str {
        if self.root.is_empty() { "/" } else { &self.root }
    }

    /// Logs what somebody does.
    pub fn log_action(&self, action: &str, target: &str) {
        let operator = self.operator.as_deref().unwrap_or("unknown");
        info!(operator, action, target, "web action");
    }

    // ---- answers

    /// A view: the whole page, or its live part when a script asks.
    pub(crate) async fn show<V: View>(&self, view: &V) -> Result<Response, WebError> {
        if self.is_fragment {
            return self.part(view.live_part()?);
        }
        let content = view.render()?;
        let (status, errors) = self.surroundings().await?;
        let (title, current) = (V::TAB.label(), Some(V::TAB));
        let layout = Layout {
            ui: self,
            title,
            current,
            content: &content,
            status: Some(status),
            errors,
            reload: false,
            assets: view.assets(),
        };
        Ok(Html(layout.render()?).into_response())
    }

    /// A part of a page, or nothing when the browser has it.
    pub(crate) fn part(&self, html: String) -> Result<Response, WebError> {
        Ok(live::part(html, self.known.as_deref()))
    }

    /// A page of an extension, in this UI's frame, or as it is when a script asks for a part. While Redis is away
    /// the frame shows no status.
    pub async fn extension_page(&self, title: &str, content: Markup) -> Response {
        let content = content.into_string();
        if self.is_fragment {
            return live::part(content, self.known.as_deref());
        }
        let mut layout = self.bare_layout(title, &content);
        if let Ok((status, errors)) = self.surroundings().await {
            (layout.status, layout.errors) = (Some(status), errors);
        }
        let page = layout.render().map_err(WebError::from);
        page.map_or_else(IntoResponse::into_response, |page| Html(page).into_response())
    }

    /// A page without data in its frame; one with `reload` asks for itself again.
    pub(crate) fn bare(&self, title: &str, content: &str, reload: bool) -> Result<Response, WebError> {
        let layout = Layout { reload, ..self.bare_layout(title, content) };
        Ok(Html(layout.render()?).into_response())
    }

    fn bare_layout<'a>(&'a self, title: &'a str, content: &'a str) -> Layout<'a> {
        Layout {
            ui: self,
            title,
            current: None,
            content,
            status: None,
            errors: 0,
            reload: false,
            assets: &[],
        }
    }

    async fn surroundings(&self) -> Result<(ClusterStatus, usize), WebError> {
        let (processes, failures) =
            tokio::join!(self.client().process_states(), self.shared.failures.soon(self.client()));
        let errors = failures.map_or(0, |census| census.groups.len());
        Ok((ClusterStatus::new(&processes?), errors))
    }

    /// After an action: the changed part and the message when a script asks, else a redirect to `back`, below the
    /// root, where the message is told (WEBC-17).
    pub(crate) async fn done<V: View>(
        &self,
        message: Message,
        back: &str,
        view: impl Future<Output = Result<V, WebError>>,
    ) -> Result<Response, WebError> {
        self.shared.failures.forget();
        if !self.is_fragment {
            return Ok(self.redirect(back, Some(&message)));
        }
        let part = view.await?.live_part()?;
        Ok(Html(self.with_toast(part, &message)?).into_response())
    }

    /// A changed part, and the message beside it.
    pub(crate) fn with_toast(&self, mut part: String, message: &Message) -> Result<String, WebError> {
        // The script takes it out: a message is no part of what changed.
        part.push_str("<template data-cw-toast>");
        part.push_str(&self.toast(message)?);
        part.push_str("</template>");
        Ok(part)
    }

    pub(crate) fn toast(&self, message: &Message) -> Result<String, WebError> {
        Ok(Toast { ui: self, message }.render()?)
    }

    /// To a page below the root.
    pub(crate) fn redirect(&self, back: &str, message: Option<&Message>) -> Response {
        let mut headers = HeaderMap::new();
        let location = format!("{}{back}", self.root);
        if let Ok(location) = location.parse() {
            headers.insert(header::LOCATION, location);
        }
        let cookie = message.map(|message| message.to_cookie(self.cookie_path()).to_string());
        if let Some(Ok(cookie)) = cookie.map(|cookie| cookie.parse()) {
            headers.append(header::SET_COOKIE, cookie);
        }
        (StatusCode::FOUND, headers).into_response()
    }

    // ---- what templates ask for

    /// Args as they may be shown.
    pub(crate) fn args(&self, class: &str, args: &str) -> String {
        match &self.shared.options.redaction {
            Some(redact) => redact(class, args),
            None => args.to_owned(),
        }
    }

    /// Bytes that are no job, as they may be shown: nobody knows which class's args are in them, so where args are
    /// rewritten they are not shown at all.
    pub(crate) fn stray(&self, raw: &[u8]) -> String {
        match &self.shared.options.redaction {
            Some(_) => format!("(hidden: {})", display::counted(raw.len() as u64, "byte", "bytes")),
            None => String::from_utf8_lossy(raw).into_owned(),
        }
    }

    /// True when args are rewritten: what they really are then decides about nothing that is shown.
    pub(crate) fn hides_args(&self) -> bool {
        self.shared.options.redaction.is_some()
    }

    pub(crate) fn title(&self) -> &str {
        &self.shared.options.title
    }

    /// The time of day in UTC.
    fn clock(&self) -> String {
        iso(self.now).get(11..19).unwrap_or_default().to_owned()
    }

    fn theme(&self) -> Option<&'static str> {
        self.preferences.theme.or(self.shared.options.theme).map(|theme| theme.name())
    }

    fn interval(&self) -> u128 {
        self.shared.options.live_update_interval.as_millis()
    }

    fn time_format(&self) -> &str {
        self.shared.options.time_format.as_str()
    }

    fn back_link(&self) -> Option<&(String, String)> {
        self.shared.options.back_link.as_ref()
    }

    fn tabs(&self) -> &[ExtraTab] {
        &self.shared.options.tabs
    }

    fn has_metrics(&self) -> bool {
        self.shared.options.metrics
    }
}

/// What stands before the path that the router sees.
fn root(original: &str, below: &str) -> String {
    original.strip_suffix(below).unwrap_or(original).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_what_nesting_took_away_webc_07_webc_12() {
        for (original, below, expected) in [
            ("/admin/jobs/workers", "/workers", "/admin/jobs"),
            ("/admin/jobs", "/", "/admin/jobs"),
            ("/admin/jobs/", "/", "/admin/jobs"),
            ("/workers", "/workers", ""),
            ("/", "/", ""),
        ] {
            assert_eq!(root(original, below), expected);
        }
    }
}
