//! The application: which handler runs which class.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cogworker_core::job::Job;

use crate::handler::{BlockingHandler, Handler, Prepare, prepare_async, prepare_blocking};

/// The handlers of a worker and the state they share.
///
/// ```
/// use cogworker_core::job::Job;
/// use cogworker_server::{App, Context};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Greeting(String);
/// impl Job for Greeting {
///     const CLASS: &'static str = "GreetingJob";
/// }
///
/// struct Greeter { word: &'static str }
///
/// async fn greet(job: Greeting, ctx: Context<Greeter>) {
///     println!("{}, {}!", ctx.state().word, job.0);
/// }
///
/// let app = App::new(Greeter { word: "Hello" }).job(greet);
/// ```
pub struct App<S = ()> {
    state: Arc<S>,
    handlers: HashMap<&'static str, Prepare>,
    status_ttl: Option<Duration>,
}

impl<S> std::fmt::Debug for App<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("classes", &self.handlers.keys()).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> App<S> {
    /// An application whose handlers share `state`.
    pub fn new(state: S) -> Self {
        Self { state: Arc::new(state), handlers: HashMap::new(), status_ttl: None }
    }

    /// Runs jobs of the handler's class by an async function. A second handler for the same
    /// class replaces the first.
    ///
    /// The function should not block its thread for more than a millisecond or so; for work
    /// that does, see [`job_blocking`](Self::job_blocking).
    #[must_use]
    pub fn job<Shape, H: Handler<S, Shape>>(mut self, handler: H) -> Self {
        self.handlers.insert(H::Job::CLASS, prepare_async(handler, self.state.clone()));
        self
    }

    /// Runs jobs of the handler's class by a sync function, on a thread that may block. Such a
    /// job cannot be stopped from outside: one that outlives the shutdown limit goes back on
    /// its queue and its thread ends with the process.
    ///
    /// Each needs a thread of the runtime's blocking pool. [`main`](crate::main) makes that large
    /// enough; a program that embeds a [`Server`](crate::Server) should give its runtime
    /// `max_blocking_threads` of `concurrency` and some more, as tokio has 512 by default and jobs
    /// beyond them would hold slots without running.
    #[must_use]
    pub fn job_blocking<Shape, H: BlockingHandler<S, Shape>>(mut self, handler: H) -> Self {
        self.handlers.insert(H::Job::CLASS, prepare_blocking(handler, self.state.clone()));
        self
    }

    /// Lets jobs report progress ([`Context::at`](crate::Context::at)); a job's status is kept
    /// for `expiration` after its last write.
    #[must_use]
    pub fn status(mut self, expiration: Duration) -> Self {
        self.status_ttl = Some(expiration);
        self
    }

    pub(crate) fn into_registry(self) -> Registry {
        Registry { handlers: self.handlers, status_ttl: self.status_ttl }
    }
}

/// An application with its state type erased.
pub(crate) struct Registry {
    pub(crate) handlers: HashMap<&'static str, Prepare>,
    pub(crate) status_ttl: Option<Duration>,
}
