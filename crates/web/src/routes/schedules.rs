use axum::Router;
pub(crate) fn routes() -> Router {
    Router::new()
}
