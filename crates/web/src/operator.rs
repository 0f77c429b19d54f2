//! Who does what: every action is logged.

use axum::http::request::Parts;

/// Who acts, put into a request's extensions by the host's authentication; the log names it.
///
/// ```
/// use axum::extract::Request;
/// use axum::middleware::Next;
/// use axum::response::Response;
/// use cogworker_web::Operator;
///
/// async fn sign_in(mut request: Request, next: Next) -> Response {
///     request.extensions_mut().insert(Operator("ada".into()));
///     next.run(request).await
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator(pub String);

/// A name from a header could be as long as a header.
const LIMIT: usize = 100;

impl Operator {
    pub(crate) fn of(parts: &Parts, header: Option<&str>) -> Option<Self> {
        if let Some(operator) = parts.extensions.get::<Self>() {
            return Some(operator.clone());
        }
        let value = parts.headers.get(header?)?;
        let name: String = String::from_utf8_lossy(value.as_bytes()).chars().take(LIMIT).collect();
        (!name.is_empty()).then_some(Self(name))
    }
}
