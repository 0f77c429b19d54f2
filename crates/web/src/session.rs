//! A small signed cookie for layers and extensions that want one (WEBC-24 to WEBC-29).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::SignedCookieJar;
use axum_extra::extract::cookie::{Cookie, Key, SameSite};
use tower::{Layer, Service};
use tracing::warn;

use crate::rejection::UiRejection;

/// The variable that holds the secret (WEBC-28).
pub(crate) const SECRET_VAR: &str = "COGWORKER_SESSION_SECRET";
const COOKIE: &str = "cogworker.session";
/// A shorter secret can be guessed.
const SHORTEST: usize = 64;

/// What signs sessions.
#[derive(Clone)]
pub struct SessionSecret(Key);

impl std::fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionSecret(..)")
    }
}

/// A secret that is too short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("use the session secret: it has {0} characters, and needs {SHORTEST}")]
pub struct SessionSecretError(usize);

impl SessionSecret {
    /// A secret of at least 64 characters.
    ///
    /// # Errors
    /// When it is shorter.
    pub fn new(secret: &str) -> Result<Self, SessionSecretError> {
        match secret.chars().count() {
            length if length < SHORTEST => Err(SessionSecretError(length)),
            _ => Ok(Self(Key::from(secret.as_bytes()))),
        }
    }

    /// A random one: sessions end with the process, and no other process knows them.
    pub fn random() -> Self {
        Self(Key::generate())
    }

    /// From `COGWORKER_SESSION_SECRET`; `None` when that is not set.
    ///
    /// # Errors
    /// When it is too short.
    pub fn from_env() -> Result<Option<Self>, SessionSecretError> {
        match std::env::var(SECRET_VAR) {
            Ok(secret) if !secret.is_empty() => Self::new(&secret).map(Some),
            _ => Ok(None),
        }
    }

    /// From the environment, else random; tells of what is amiss.
    pub(crate) fn found() -> Self {
        match Self::from_env() {
            Ok(Some(secret)) => return secret,
            Ok(None) => {
                warn!("{SECRET_VAR} is not set: web sessions end with this process and are its own");
            }
            Err(error) => warn!("failed to {error}; a random one signs web sessions"),
        }
        Self::random()
    }
}

/// What the UI, its layers and its extensions remember of a browser. Clones are the same session.
///
/// ```
/// use axum::response::Response;
/// use cogworker_web::{Markup, Session, Ui};
///
/// async fn show(ui: Ui, session: Session) -> Response {
///     session.set("seen", "yes");
///     ui.extension_page("Seen", Markup::raw("<h1>Seen</h1>")).await
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Session(Arc<Mutex<Values>>);

#[derive(Debug, Default)]
struct Values {
    values: BTreeMap<String, String>,
    changed: bool,
}

impl Session {
    /// A value.
    pub fn get(&self, name: &str) -> Option<String> {
        self.values().values.get(name).cloned()
    }

    /// Sets a value, which the browser keeps; all of them together should stay below 3 kB.
    pub fn set(&self, name: impl Into<String>, value: impl Into<String>) {
        let mut values = self.values();
        values.values.insert(name.into(), value.into());
        values.changed = true;
    }

    /// Forgets a value.
    pub fn remove(&self, name: &str) {
        let mut values = self.values();
        values.changed |= values.values.remove(name).is_some();
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(headers: &HeaderMap, secret: &SessionSecret) -> Self {
        let jar = SignedCookieJar::from_headers(headers, secret.0.clone());
        let values = jar.get(COOKIE).and_then(|cookie| serde_json::from_str(cookie.value()).ok());
        Self(Arc::new(Mutex::new(Values { values: values.unwrap_or_default(), changed: false })))
    }

    /// The cookie, once something was written.
    fn cookie(&self, secret: &SessionSecret, path: &str, secure: bool) -> Option<Response> {
        let values = self.values();
        if !values.changed {
            return None;
        }
        let cookie = Cookie::build((COOKIE, serde_json::to_string(&values.values).unwrap_or_default()))
            .path(path.to_owned())
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(secure)
            .build();
        Some(SignedCookieJar::new(secret.0.clone()).add(cookie).into_response())
    }
}

impl<S: Sync> FromRequestParts<S> for Session {
    type Rejection = UiRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        parts.extensions.get::<Self>().cloned().ok_or(UiRejection::NO_SESSION)
    }
}

/// Gives the requests behind it a [`Session`], for layers that stand before the UI's own router. The UI then uses
/// this one.
#[derive(Debug, Clone)]
pub struct SessionLayer {
    secret: SessionSecret,
}

impl SessionLayer {
    /// Sessions signed with `secret`.
    pub fn new(secret: SessionSecret) -> Self {
        Self { secret }
    }
}

impl<S> Layer<S> for SessionLayer {
    type Service = SessionService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SessionService { inner, secret: self.secret.clone() }
    }
}

/// The service of a [`SessionLayer`]: its requests have a [`Session`].
#[derive(Debug, Clone)]
pub struct SessionService<S> {
    inner: S,
    secret: SessionSecret,
}

impl<S> Service<Request> for SessionService<S>
where
    S: Service<Request, Response = Response> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = S::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        // The service that was polled ready, and not its clone, must be called.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let secret = self.secret.clone();
        Box::pin(async move {
            let opened = Opened::new(&mut request, &secret, "/");
            let mut response = inner.call(request).await?;
            if let Some(opened) = opened {
                opened.close(&mut response, &secret);
            }
            Ok(response)
        })
    }
}

/// Serves a request of the UI with a session, unless it has one.
pub(crate) async fn with_session(
    secret: &SessionSecret,
    path: &str,
    mut request: Request,
    next: Next,
) -> Response {
    let opened = Opened::new(&mut request, secret, path);
    let mut response = next.run(request).await;
    if let Some(opened) = opened {
        opened.close(&mut response, secret);
    }
    response
}

/// A session that lives as long as one request.
struct Opened {
    session: Session,
    path: String,
    secure: bool,
}

impl Opened {
    /// `None` when the request has a session already.
    fn new(request: &mut Request, secret: &SessionSecret, path: &str) -> Option<Self> {
        if request.extensions().get::<Session>().is_some() {
            return None;
        }
        let session = Session::read(request.headers(), secret);
        request.extensions_mut().insert(session.clone());
        Some(Self { session, path: path.to_owned(), secure: is_https(request) })
    }

    fn close(self, response: &mut Response, secret: &SessionSecret) {
        if let Some(cookies) = self.session.cookie(secret, &self.path, self.secure) {
            for cookie in cookies.headers().get_all(header::SET_COOKIE) {
                response.headers_mut().append(header::SET_COOKIE, cookie.clone());
            }
        }
    }
}

/// Whether the browser speaks TLS, as far as can be known behind a proxy.
fn is_https(request: &Request) -> bool {
    let header = |name: &str| request.headers().get(name).map(|value| value.as_bytes().to_vec());
    let by_proxy = header("x-forwarded-proto").is_some_and(|proto| proto.starts_with(b"https"));
    let by_origin = header("origin").is_some_and(|origin| origin.starts_with(b"https:"));
    request.uri().scheme_str() == Some("https") || by_proxy || by_origin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_secret_is_refused() {
        assert_eq!(SessionSecret::new("short").unwrap_err(), SessionSecretError(5));
        assert!(SessionSecret::new(&"é".repeat(64)).is_ok());
    }

    #[test]
    fn only_what_this_secret_signed_is_read() {
        let secret = SessionSecret::random();
        let session = Session::default();
        assert!(session.cookie(&secret, "/", false).is_none());
        session.set("name", "ada");
        let response = session.cookie(&secret, "/jobs", true).unwrap();
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
        for part in ["cogworker.session=", "HttpOnly", "SameSite=Lax", "Secure", "Path=/jobs"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, cookie.split(';').next().unwrap().parse().unwrap());
        assert_eq!(Session::read(&headers, &secret).get("name").as_deref(), Some("ada"));
        assert_eq!(Session::read(&headers, &SessionSecret::random()).get("name"), None);
    }
}
