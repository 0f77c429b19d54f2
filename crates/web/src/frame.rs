//! What stands around every route: safety first, then the page, then the headers.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tracing::{error, warn};

use crate::confirm::ask_first;
use crate::error::{ErrorContent, WebError};
use crate::message::{self, Message};
use crate::shared::Shared;
use crate::{Ui, csrf, session};

/// A scrape or a health check has its own answer, so that it is not given up before.
pub(crate) const PROBE_LIMIT: Duration = Duration::from_millis(1200);
/// Deleting a million jobs takes its time; so long a browser and most proxies wait.
const ACTION_LIMIT: Duration = Duration::from_secs(50);

/// A setting of the browser's own is no change.
const PREFERENCES: &str = "/preferences";

pub(crate) async fn frame(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let ui = Ui::new(shared.clone(), &parts);
    let is_asset = parts.uri.path().starts_with("/assets/");
    let options = &shared.options;
    let refusal = csrf::refusal(&parts, &options.trusted_origins, options.csrf_rule.as_ref());
    let method = parts.method.clone();
    let path = parts.uri.path().to_owned();
    let request = Request::from_parts(parts, body);
    let mut response = match refusal {
        Some(why) => {
            warn!(%method, path, "web request refused: {why}");
            WebError::Forbidden(why).into_response()
        }
        None if options.read_only && !csrf::is_safe(&method) && path != PREFERENCES => {
            WebError::ReadOnly.into_response()
        }
        None => serve(&ui, request, next).await,
    };
    if let Some(error) = response.extensions_mut().remove::<WebError>() {
        response = error_page(&ui, &error);
    }
    guard(&ui, &method, is_asset, &mut response);
    response
}

async fn serve(ui: &Ui, mut request: Request, next: Next) -> Response {
    let limit = if csrf::is_safe(request.method()) {
        ui.shared.options.read_limit
    } else {
        match begin_action(ui, request).await {
            Ok(Ok(checked)) => request = checked,
            Ok(Err(question)) => return question,
            Err(error) => return error.into_response(),
        }
        ACTION_LIMIT
    };
    request.extensions_mut().insert(ui.clone());
    let answer = async {
        match &ui.shared.session_secret {
            Some(secret) => session::with_session(secret, ui.cookie_path(), request, next).await,
            None => next.run(request).await,
        }
    };
    timeout(limit, answer).await.unwrap_or_else(|_| WebError::Slow(limit).into_response())
}

/// An action on a Redis that is away is refused at once: nothing of it is begun.
async fn begin_action(ui: &Ui, request: Request) -> Result<Result<Request, Response>, WebError> {
    let request = match ask_first(ui, request).await? {
        Ok(request) => request,
        question => return Ok(question),
    };
    if request.uri().path() != PREFERENCES {
        let limit = ui.shared.options.read_limit;
        timeout(limit, ui.client().ping()).await.map_err(|_| WebError::Slow(limit))??;
    }
    Ok(Ok(request))
}

fn error_page(ui: &Ui, error: &WebError) -> Response {
    if matches!(error, WebError::Render(_)) {
        error!("failed to {error}");
    }
    let page = if ui.is_fragment() {
        let message = Message::bad(error.title()).detail(message::failed_to(error));
        ui.toast(&message).map(|toast| axum::response::Html(toast).into_response())
    } else {
        let address = ui.client().redis().config().to_string();
        let content = ErrorContent { ui, error, address }.render().map_err(WebError::from);
        content.and_then(|content| ui.bare(error.title(), &content, error.is_outage()))
    };
    let mut page = page.unwrap_or_else(|_| format!("failed to {error}").into_response());
    *page.status_mut() = error.status();
    if error.is_outage() {
        page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    page
}

fn guard(ui: &Ui, method: &Method, is_asset: bool, response: &mut Response) {
    let policy = format!(
        "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors {}",
        ui.shared.options.frame_ancestors
    );
    // A message is told once, on the page that stands behind the redirect.
    let told = ui.notice.is_some() && *method == Method::GET && !ui.is_fragment() && !is_asset;
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.entry(HeaderName::from_static(name)).or_insert(value);
        }
    };
    set("content-security-policy", &policy);
    set("x-content-type-options", "nosniff");
    set("referrer-policy", "same-origin");
    set("cross-origin-opener-policy", "same-origin");
    set("permissions-policy", "camera=(), geolocation=(), microphone=()");
    if ui.shared.options.frame_ancestors == "'none'" {
        set("x-frame-options", "DENY");
    } else if ui.shared.options.frame_ancestors == "'self'" {
        set("x-frame-options", "SAMEORIGIN");
    }
    if !is_asset {
        set("cache-control", "private, no-cache");
        set("vary", "hx-request, cookie");
    }
    if told {
        let path = ui.cookie_path();
        let gone = format!("{}=; Path={path}; Max-Age=0; HttpOnly; SameSite=Lax", message::COOKIE);
        if let Ok(gone) = HeaderValue::from_str(&gone) {
            headers.append(header::SET_COOKIE, gone);
        }
    }
}
