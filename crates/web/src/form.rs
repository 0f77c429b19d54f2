//! What a query or a form says. Nothing in it can break a page: what is missing is empty, what comes twice counts once.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use bytes::Bytes;
use cogworker_core::time::EpochSeconds;

use crate::error::WebError;

/// The fields of a query or a form, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of a field that has one that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).find(|value| !value.is_empty())
    }

    /// Every value of a field.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The fields of a request's query.
    pub(crate) fn of_query(query: Option<String>) -> Self {
        Self::parse(query.unwrap_or_default().as_bytes())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// When the jobs that a form means were counted, which is never later than now; nothing where it does not say.
    pub(crate) fn counted_at(&self) -> Option<EpochSeconds> {
        let moment: f64 = self.get("counted_at")?.parse().ok()?;
        let now = EpochSeconds::now();
        (moment > 0.0).then(|| EpochSeconds::new(moment.min(now.as_f64())))
    }

    /// A whole number; the nearest possible one where it is too large, nothing where it is none (P-40).
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let text = self.get(name)?.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    }
}

impl From<Bytes> for Fields {
    fn from(body: Bytes) -> Self {
        Self::parse(&body)
    }
}

/// The name in a path. One that is no text names nothing.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, WebError> {
        let Path(name) = Path::from_request_parts(parts, state).await.map_err(|_| WebError::NotFound)?;
        Ok(Self(name))
    }
}

/// A query, built field by field.
#[derive(Debug)]
pub(crate) struct Href(String);

impl Href {
    pub(crate) fn new(path: &str) -> Self {
        Self(path.to_owned())
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(&crate::ui::encode(value.as_ref()));
        self
    }

    #[must_use]
    pub(crate) fn with_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn done(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_fields_are_read_as_what_they_may_mean_p_40() {
        let fields = Fields::parse(b"a=&a=1&a=2&n=99999999999999999999999&m=-1&%ff=%ff&=&x");
        assert_eq!((fields.get("a"), fields.get("none"), fields.get("x")), (Some("1"), None, None));
        assert_eq!(fields.all("a").collect::<Vec<_>>(), ["", "1", "2"]);
        assert_eq!(
            (fields.number("n"), fields.number("m"), fields.number("a")),
            (Some(u64::MAX), None, Some(1))
        );
    }

    #[test]
    fn a_moment_of_counting_is_never_later_than_now() {
        let at = |text: &str| Fields::parse(format!("counted_at={text}").as_bytes()).counted_at();
        assert_eq!(at("1796004601.25"), at("1796004601.25").filter(|at| *at <= EpochSeconds::now()));
        assert_eq!(at("12.25"), Some(EpochSeconds::new(12.25)));
        assert!(at("1e300").is_some_and(|at| at <= EpochSeconds::now()) && at("inf").is_some());
        for odd in ["", "x", "-1", "NaN", "0"] {
            assert_eq!(at(odd), None, "{odd}");
        }
    }

    #[test]
    fn every_value_can_stand_in_an_address() {
        let href = Href::new("/x").with("a", "1&2").with_some("b", None::<&str>).with("c", "é +").done();
        assert_eq!(href, "/x?a=1%262&c=%C3%A9%20%2B");
    }
}
