//! Who may see the UI.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cogworker_web::Operator;

use crate::exit::Failure;

/// Holds `USER:PASSWORD` where the flag would be seen by others.
pub(crate) const BASIC_AUTH_VAR: &str = "COGWORKER_WEB_BASIC_AUTH";

/// Who is let in.
#[derive(Clone)]
pub(crate) enum Access {
    Everybody,
    /// Whoever knows the password.
    Basic {
        user: Arc<str>,
        expected: Arc<str>,
    },
    /// Whom a proxy names.
    Header(HeaderName),
}

/// Who is let in, and what everybody may see.
#[derive(Clone)]
struct Door {
    access: Access,
    health: Arc<str>,
}

impl Access {
    /// `source` is where the pair was given.
    pub(crate) fn basic(pair: &str, source: &str) -> Result<Self, Failure> {
        // What was given is not repeated: it may be a password.
        let wrong = |found| Failure::Usage(format!("{source}: expected USER:PASSWORD, found {found}"));
        let (user, password) = pair.split_once(':').ok_or_else(|| wrong("no colon"))?;
        if user.is_empty() || password.is_empty() {
            return Err(wrong(if user.is_empty() { "no user" } else { "no password" }));
        }
        let expected = format!("Basic {}", STANDARD.encode(pair)).into();
        Ok(Self::Basic { user: user.into(), expected })
    }

    pub(crate) fn header(name: &str) -> Result<Self, Failure> {
        let name = HeaderName::try_from(name).map_err(|_| {
            Failure::Usage(format!("--auth-header: expected the name of a header, found {name:?}"))
        })?;
        Ok(Self::Header(name))
    }

    /// Puts itself before `app`, which is served under `prefix`.
    pub(crate) fn around(self, app: Router, prefix: &str) -> Router {
        match self {
            Self::Everybody => app,
            access => {
                let health = format!("{prefix}/health").into();
                app.layer(from_fn_with_state(Door { access, health }, let_in))
            }
        }
    }

    /// Who it is, if they may come in.
    fn operator(&self, request: &Request) -> Option<Operator> {
        match self {
            Self::Everybody => None,
            Self::Basic { user, expected } => {
                let given = request.headers().get(header::AUTHORIZATION)?;
                is_equal(given.as_bytes(), expected.as_bytes()).then(|| Operator(user.to_string()))
            }
            Self::Header(name) => {
                let name = request.headers().get(name)?.to_str().ok()?.trim();
                (!name.is_empty()).then(|| Operator(name.to_owned()))
            }
        }
    }

    fn refusal(&self) -> Response {
        match self {
            Self::Header(name) => {
                let text = format!("sign in first: the proxy in front of this page names nobody in {name}\n");
                (StatusCode::FORBIDDEN, text).into_response()
            }
            _ => {
                let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"Cogworker\", charset=\"UTF-8\"")];
                (StatusCode::UNAUTHORIZED, ask, "user and password, please\n").into_response()
            }
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("open to everybody who reaches it"),
            Self::Basic { user, .. } => write!(f, "for {user}"),
            Self::Header(name) => write!(f, "for whom {name} names"),
        }
    }
}

/// Health checks of platforms know no password, and learn no more than whether Redis answers.
async fn let_in(State(Door { access, health }): State<Door>, mut request: Request, next: Next) -> Response {
    match access.operator(&request) {
        Some(operator) => {
            request.extensions_mut().insert(operator);
            next.run(request).await
        }
        None if request.uri().path() == &*health => next.run(request).await,
        None => access.refusal(),
    }
}

/// Takes as long for every wrong password of the right length.
fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
