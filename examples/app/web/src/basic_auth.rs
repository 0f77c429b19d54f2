//! HTTP basic authentication: one user, one password.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cogworker_web::Operator;

const USER: &str = "admin";

#[derive(Clone)]
pub(crate) struct Password(pub(crate) String);

pub(crate) async fn ask_for_password(
    State(Password(password)): State<Password>,
    mut request: Request,
    next: Next,
) -> Response {
    let expected = format!("Basic {}", STANDARD.encode(format!("{USER}:{password}")));
    let given = request.headers().get(header::AUTHORIZATION).map(|given| given.as_bytes().to_vec());
    if !given.is_some_and(|given| is_equal(&given, expected.as_bytes())) {
        let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"Cogworker\", charset=\"UTF-8\"")];
        return (StatusCode::UNAUTHORIZED, ask, "user and password, please").into_response();
    }
    // Named in the log of what is done.
    request.extensions_mut().insert(Operator(USER.to_owned()));
    next.run(request).await
}

/// Takes as long for every wrong password.
fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
