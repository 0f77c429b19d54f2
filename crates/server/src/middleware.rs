//! What goes around every run: any [`tower::Layer`], and functions.
//!
//! ```
//! use cogworker_server::middleware::{Next, from_fn};
//! use cogworker_server::{App, JobError, Run};
//!
//! async fn timing(run: Run, next: Next) -> Result<(), JobError> {
//!     let begun = std::time::Instant::now();
//!     let result = next.run(run.clone()).await;
//!     println!("{} took {:?}", run.class(), begun.elapsed());
//!     result
//! }
//!
//! let app = App::new(()).middleware(from_fn(timing));
//! ```
//!
//! The first that is registered is the outermost (MW-01), as in tower's `ServiceBuilder` and unlike axum's
//! `Router::layer`. Registered twice is called twice, which the gem's are not (MW-02): values of one type may
//! be set up differently. A class without a handler passes
//! through all of them and fails inside (MW-06); an error of a middleware itself is the job's
//! failure (MW-07). Without any, runs take a shorter way.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use cogworker_core::failure::Failure;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

use crate::handler::{JobFuture, Prepare, Prepared};
use crate::job_error::{BoxError, JobError, JobResult, failure_of};
use crate::run::Run;

/// The service that a layer wraps: what is inside of it, down to the handler.
pub type JobService = BoxCloneSyncService<Run, (), BoxError>;

type BoxFuture = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// The rest of the chain.
#[derive(Debug, Clone)]
pub struct Next(JobService);

impl Next {
    /// Runs the rest of the chain and the job.
    ///
    /// # Errors
    /// The job's failure.
    pub async fn run(self, run: Run) -> Result<(), JobError> {
        self.0.oneshot(run).await.map_err(JobError::from_boxed)
    }
}

/// A middleware from an async function of a run and the rest of the chain.
pub fn from_fn<F, Fut>(function: F) -> FromFn<F>
where
    F: Fn(Run, Next) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output: JobResult> + Send + 'static,
{
    FromFn { function }
}

/// See [`from_fn`].
#[derive(Debug, Clone, Copy)]
pub struct FromFn<F> {
    function: F,
}

impl<F: Clone> Layer<JobService> for FromFn<F> {
    type Service = FromFnService<F>;

    fn layer(&self, inner: JobService) -> Self::Service {
        FromFnService { function: self.function.clone(), inner }
    }
}

/// See [`from_fn`].
#[derive(Debug, Clone)]
pub struct FromFnService<F> {
    function: F,
    inner: JobService,
}

impl<F, Fut> Service<Run> for FromFnService<F>
where
    F: Fn(Run, Next) -> Fut,
    Fut: Future + Send + 'static,
    Fut::Output: JobResult,
{
    type Response = ();
    type Error = BoxError;
    type Future = BoxFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The rest of the chain is asked when it is run.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, run: Run) -> BoxFuture {
        let future = (self.function)(run, Next(self.inner.clone()));
        Box::pin(async move {
            future.await.into_result().map_err(|failure| JobError::from_failure(failure).into())
        })
    }
}

/// Layers, as they are registered.
#[derive(Default)]
pub(crate) struct Layers(Vec<Box<dyn Fn(JobService) -> JobService + Send>>);

impl Layers {
    pub(crate) fn add<L>(&mut self, layer: L)
    where
        L: Layer<JobService> + Send + 'static,
        L::Service: Service<Run, Response = ()> + Clone + Send + Sync + 'static,
        <L::Service as Service<Run>>::Error: Into<BoxError>,
        <L::Service as Service<Run>>::Future: Send + 'static,
    {
        self.0.push(Box::new(move |inner| {
            BoxCloneSyncService::new(layer.layer(inner).map_err(Into::<BoxError>::into))
        }));
    }

    /// The whole chain around the handlers; `None` without any layer.
    pub(crate) fn around(&self, handlers: &Arc<HashMap<&'static str, Prepare>>) -> Option<JobService> {
        (!self.0.is_empty()).then(|| self.service(handlers))
    }

    /// The whole chain; without any layer, the handlers alone.
    pub(crate) fn service(&self, handlers: &Arc<HashMap<&'static str, Prepare>>) -> JobService {
        let innermost = JobService::new(Dispatch { handlers: handlers.clone() });
        self.0.iter().rev().fold(innermost, |inner, layer| layer(inner))
    }
}

/// Runs a job through the chain.
pub(crate) fn through(chain: JobService, run: Run) -> JobFuture {
    Box::pin(async move { chain.oneshot(run).await.map_err(failure_of) })
}

/// The handlers, at the end of the chain.
#[derive(Clone)]
struct Dispatch {
    handlers: Arc<HashMap<&'static str, Prepare>>,
}

impl Service<Run> for Dispatch {
    type Response = ();
    type Error = BoxError;
    type Future = BoxFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, run: Run) -> BoxFuture {
        let boxed = |failure: Failure| BoxError::from(JobError::from_failure(failure));
        let Some(prepare) = self.handlers.get(run.class()) else {
            let failure = Failure::unknown_class(run.class(), self.handlers.keys().copied());
            return Box::pin(ready(Err(boxed(failure))));
        };
        match prepare(&run) {
            Prepared::Async(future) => Box::pin(async move { future.await.map_err(boxed) }),
            Prepared::Blocking(closure) => Box::pin(async move {
                run.goes_blocking();
                #[cfg(feature = "otel")]
                let closure = crate::tracing_runs::carried(closure);
                match tokio::task::spawn_blocking(move || crate::panic_guard::contain(closure)).await {
                    Ok(result) => result.and_then(|result| result).map_err(boxed),
                    Err(error) => Err(boxed(Failure::panic(&error.to_string(), None))),
                }
            }),
        }
    }
}
