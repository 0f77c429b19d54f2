//! Asking first, where there is no script to do it: a form whose field `ask` has a question is answered with that
//! question, and the same form without it. A form of several buttons, which are named `do`, has a question of each that
//! asks in `ask:<value of the button>`; `{n}` in it stands for how many entries are ticked.
//!
//! With a script the question is a dialog, and the form comes without `ask` at once.

use askama::Template;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, header};
use axum::response::Response;

use crate::Ui;
use crate::display::counted;
use crate::error::WebError;

/// The most that a form may have: a thousand ticked jobs of some kilobytes.
pub(crate) const LARGEST_FORM: usize = 8 << 20;

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm<'a> {
    ui: &'a Ui,
    question: &'a str,
    text: &'a str,
    verb: String,
    fields: Vec<(String, String)>,
    back: String,
}

/// The request again, or the page that asks first.
pub(crate) async fn ask_first(ui: &Ui, request: Request) -> Result<Result<Request, Response>, WebError> {
    let is_form = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    if request.method() != Method::POST || !is_form {
        return Ok(Ok(request));
    }
    let (parts, body) = request.into_parts();
    let too_large = |_| WebError::BadRequest(format!("a form of at most {} MiB", LARGEST_FORM >> 20));
    let bytes = to_bytes(body, LARGEST_FORM).await.map_err(too_large)?;
    let fields: Vec<(String, String)> = form_urlencoded::parse(&bytes).into_owned().collect();
    let field = |name: &str| {
        let found = fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty())
    };
    let button = field("do").map(|value| format!(":{value}")).unwrap_or_default();
    let of_button = |name: &str| field(&format!("{name}{button}")).or_else(|| field(name));
    let ticked = fields.iter().filter(|(name, _)| name == "entry").count();
    let told = |text: &str| {
        text.replace("{n} selected jobs", &counted(ticked as u64, "selected job", "selected jobs"))
    };
    let nothing_to_do = ticked == 0 && field("ask").is_none() && field("all").is_none();
    let Some(question) = of_button("ask").map(told).filter(|_| !nothing_to_do) else {
        return Ok(Ok(Request::from_parts(parts, Body::from(bytes))));
    };
    let page = Confirm {
        ui,
        question: &question,
        text: of_button("ask_text").unwrap_or_default(),
        verb: told(of_button("ask_verb").unwrap_or("Continue")),
        back: back(ui, &parts.headers),
        fields: fields.iter().filter(|(name, _)| !name.starts_with("ask")).cloned().collect(),
    };
    Ok(Err(ui.bare(&question, &page.render()?, false)?))
}

/// The page that the form stands on, where the browser tells.
pub(crate) fn back(ui: &Ui, headers: &axum::http::HeaderMap) -> String {
    let referer = headers.get(header::REFERER).and_then(|referer| referer.to_str().ok());
    let path = referer.and_then(|referer| referer.split_once("://")?.1.split_once('/').map(|(_, path)| path));
    match path.map(|path| format!("/{path}")) {
        Some(path) if path.starts_with(&format!("{}/", ui.root())) => path,
        _ => format!("{}/overview", ui.root()),
    }
}
