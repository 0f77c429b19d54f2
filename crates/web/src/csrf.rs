//! Which requests may change something: those that our own pages make (WEBC-08 to WEBC-10).
//!
//! `Sec-Fetch-Site` decides where it is there. Browsers send it to secure origins alone, so without it, `Origin`
//! must name the host. With neither a request is no browser's of today, and is refused.

use std::fmt;
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{Method, header};

/// What a rule of the host's own says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsrfVerdict {
    /// It may pass.
    Allow,
    /// It may not.
    Refuse,
    /// The built-in rule decides.
    Default,
}

/// A rule of the host's own, asked about each request that may change something.
#[derive(Clone)]
pub struct CsrfRule(Arc<dyn Fn(&Parts) -> CsrfVerdict + Send + Sync>);

impl CsrfRule {
    /// The rule `decide`.
    ///
    /// ```
    /// use cogworker_web::{CsrfRule, CsrfVerdict, WebOptions};
    ///
    /// // Scripts with a token of their own are no browsers, which other sites could lead on.
    /// let rule = CsrfRule::new(|request| match request.headers.contains_key("x-api-token") {
    ///     true => CsrfVerdict::Allow,
    ///     false => CsrfVerdict::Default,
    /// });
    /// let options = WebOptions::new().csrf_rule(rule);
    /// ```
    pub fn new(decide: impl Fn(&Parts) -> CsrfVerdict + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }
}

impl fmt::Debug for CsrfRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CsrfRule(..)")
    }
}

/// Why a request is refused; `None` when it may pass.
pub(crate) fn refusal(parts: &Parts, trusted: &[String], rule: Option<&CsrfRule>) -> Option<String> {
    if is_safe(&parts.method) {
        return None;
    }
    match rule.map_or(CsrfVerdict::Default, |rule| (rule.0)(parts)) {
        CsrfVerdict::Allow => return None,
        CsrfVerdict::Refuse => return Some("the rule of this application refuses it".to_owned()),
        CsrfVerdict::Default => {}
    }
    let text = |name| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let origin = text(header::ORIGIN);
    if origin.as_ref().is_some_and(|origin| trusted.iter().any(|known| known == origin)) {
        return None;
    }
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site")) {
        let from = origin.map_or_else(String::new, |origin| format!(" from {origin}"));
        return (site != "same-origin")
            .then(|| format!("it comes{from}, which the browser calls {site}, not same-origin"));
    }
    let Some(origin) = origin else {
        return Some("it says neither where it comes from (Sec-Fetch-Site, Origin) nor is it trusted".into());
    };
    let host = text(header::HOST).map(|host| host.into_owned());
    let host = host.or_else(|| parts.uri.authority().map(ToString::to_string)).unwrap_or_default();
    let (scheme, of_origin) = origin.split_once("://").unwrap_or(("", &origin));
    let same = !host.is_empty() && without_port(of_origin, scheme) == without_port(&host, scheme);
    (!same).then(|| format!("it comes from {origin}, and this is {host}"))
}

/// Methods that change nothing.
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The port that goes without saying left out: proxies and browsers differ there.
fn without_port(host: &str, scheme: &str) -> String {
    let port = if scheme == "https" { ":443" } else { ":80" };
    host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::post("/x").header("host", "jobs.example");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn passes(headers: &[(&str, &str)]) -> bool {
        refusal(&parts(headers), &["https://ops.example".to_owned()], None).is_none()
    }

    #[test]
    fn the_fetch_header_decides_where_it_is_there_webc_08_webc_09() {
        assert!(passes(&[("sec-fetch-site", "same-origin")]));
        for site in ["cross-site", "same-site", "none", "", "Same-Origin "] {
            assert!(!passes(&[("sec-fetch-site", site), ("origin", "http://jobs.example")]), "{site}");
        }
        assert!(!passes(&[]));
    }

    #[test]
    fn without_it_the_origin_must_be_the_host() {
        for origin in ["http://jobs.example", "https://jobs.example", "http://JOBS.example:80"] {
            assert!(passes(&[("origin", origin)]), "{origin}");
        }
        for origin in
            ["null", "http://evil.example", "http://jobs.example:8080", "http://jobs.example.evil", ""]
        {
            assert!(!passes(&[("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn a_trusted_origin_passes_and_a_rule_of_the_hosts_own_comes_first_webc_10() {
        assert!(passes(&[("origin", "https://ops.example"), ("sec-fetch-site", "cross-site")]));
        let allow = CsrfRule::new(|parts| match parts.uri.path() {
            "/x" => CsrfVerdict::Allow,
            _ => CsrfVerdict::Default,
        });
        assert_eq!(refusal(&parts(&[]), &[], Some(&allow)), None);
        let refuse = CsrfRule::new(|_| CsrfVerdict::Refuse);
        assert!(refusal(&parts(&[("sec-fetch-site", "same-origin")]), &[], Some(&refuse)).is_some());
    }
}
