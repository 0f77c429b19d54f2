//! The client middleware of an application: what the jobs that its worker pushes pass through.

use std::sync::Arc;

use cogworker_client::Client;
use cogworker_client::middleware::Middleware;

/// The middlewares, outermost first.
#[derive(Clone, Default)]
pub(crate) struct ClientChain(Vec<Arc<dyn Middleware>>);

impl ClientChain {
    pub(crate) fn add(&mut self, middleware: impl Middleware) {
        self.0.push(Arc::new(middleware));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The client with all of them.
    pub(crate) fn around(&self, client: Client) -> Client {
        self.0.iter().fold(client, |client, middleware| client.with_middleware(middleware.clone()))
    }
}
