//! Parts of pages that are asked for again and again: unchanged ones are not sent.
//!
//! What the browser counts by itself, such as how long ago something was, changes with every second and is no
//! change: elements whose last attribute is `data-cw-now` count without their text.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

/// Ends the tag of an element that the browser keeps up to date by itself.
pub(crate) const COUNTED_BY_BROWSER: &str = " data-cw-now>";

/// A part, or `304` when the browser has it already.
pub(crate) fn part(html: String, known: Option<&str>) -> Response {
    let tag = tag(&html);
    let tagged = [(header::ETAG, tag.clone())];
    if known == Some(&*tag) {
        return (StatusCode::NOT_MODIFIED, tagged).into_response();
    }
    (tagged, Html(html)).into_response()
}

/// The field of a form that tells when what it means was counted; its value follows. Where nothing else changed, the
/// moment that the browser has is as good.
pub(crate) const COUNTED_AT: &str = "<input type=\"hidden\" name=\"counted_at\" value=\"";

fn tag(html: &str) -> String {
    let mut hasher = DefaultHasher::new();
    for (part, html) in html.split(COUNTED_AT).enumerate() {
        let html = if part == 0 { html } else { html.find('"').map_or("", |end| &html[end..]) };
        let mut parts = html.split(COUNTED_BY_BROWSER);
        parts.next().hash(&mut hasher);
        for part in parts {
            part.find('<').map_or("", |end| &part[end..]).hash(&mut hasher);
        }
    }
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_passes_is_no_change() {
        let html =
            |ago: &str, name: &str| format!("<i data-cw-now>{ago}</i><b>{name}</b><i data-cw-now>x</i>");
        assert_eq!(tag(&html("1 s ago", "a")), tag(&html("2 s ago", "a")));
        assert_ne!(tag(&html("1 s ago", "a")), tag(&html("1 s ago", "b")));
        let form =
            |moment: f64, name: &str| format!("{COUNTED_AT}{moment}\"><b>{name}</b>{COUNTED_AT}{moment}\">");
        assert_eq!(tag(&form(1.5, "a")), tag(&form(22.5, "a")));
        assert_ne!(tag(&form(1.5, "a")), tag(&form(1.5, "b")));
    }

    #[test]
    fn what_the_browser_has_is_not_sent_again() {
        let first = part("<p>1</p>".into(), None);
        let known = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert_eq!(part("<p>1</p>".into(), Some(&known)).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(part("<p>2</p>".into(), Some(&known)).status(), StatusCode::OK);
    }
}
