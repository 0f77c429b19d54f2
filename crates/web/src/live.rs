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

fn tag(html: &str) -> String {
    let mut hasher = DefaultHasher::new();
    let mut parts = html.split(COUNTED_BY_BROWSER);
    parts.next().hash(&mut hasher);
    for part in parts {
        part.find('<').map_or("", |end| &part[end..]).hash(&mut hasher);
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
    }

    #[test]
    fn what_the_browser_has_is_not_sent_again() {
        let first = part("<p>1</p>".into(), None);
        let known = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert_eq!(part("<p>1</p>".into(), Some(&known)).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(part("<p>2</p>".into(), Some(&known)).status(), StatusCode::OK);
    }
}
