//! Theme and width, for browsers without scripts.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use bytes::Bytes;

use crate::Ui;
use crate::confirm::back;
use crate::error::WebError;
use crate::form::Fields;
use crate::preferences::{THEME, Theme, WIDTH, cookie};

pub(crate) async fn preferences(ui: Ui, headers: HeaderMap, body: Bytes) -> Result<Response, WebError> {
    let choice = Fields::from(body);
    let mut answer = HeaderMap::new();
    let theme = choice.get("theme").and_then(Theme::from_name).map(|theme| (THEME, theme.name()));
    let width = choice.get("width").map(|width| (WIDTH, if width == "wide" { "wide" } else { "fixed" }));
    for (name, value) in theme.into_iter().chain(width) {
        let cookie = cookie(name, value.to_owned(), ui.cookie_path()).to_string();
        answer.extend(cookie.parse().map(|cookie| (header::SET_COOKIE, cookie)));
    }
    answer.extend(back(&ui, &headers).parse().map(|back| (header::LOCATION, back)));
    Ok((StatusCode::FOUND, answer).into_response())
}
