//! Middleware around a push: code that sees each job before it is pushed, and may change or stop it.
//!
//! Register with [`Client::with_middleware`](crate::Client::with_middleware). The first one registered is the
//! outermost. Each is called once for every job of a push, in bulk pushes too, with all defaults filled in.
//!
//! A push is carried out after the whole chain has returned, since the jobs of a bulk push go out
//! together. So [`Next::run`] resolves to the job as it is going to be pushed, not to a job that
//! has been; what comes after it in a middleware cannot rely on the push.
//!
//! ```
//! use cogworker_client::middleware::{self, MiddlewareResult, Next};
//! use cogworker_core::new_job::NewJob;
//!
//! /// Tells by each job who asked for it.
//! async fn tag(job: NewJob, next: Next) -> MiddlewareResult {
//!     next.run(job.set("tags", ["api"])).await
//! }
//!
//! # fn example(client: cogworker_client::Client) -> cogworker_client::Client {
//! let client = client
//!     .with_middleware(middleware::from_fn(tag))
//!     .with_middleware(middleware::from_fn(|job: NewJob, next: Next| async move {
//!         if job.field_as::<String>("queue").as_deref() == Some("mail") {
//!             return Ok(None); // stopped: `push` gives `None` and writes nothing
//!         }
//!         next.run(job).await
//!     }));
//! # client }
//! ```

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use cogworker_core::new_job::NewJob;

/// Any error; `?` turns every other one into it.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The job to push, `None` when it was stopped, or why the push fails.
pub type MiddlewareResult = Result<Option<NewJob>, BoxError>;

/// What a middleware is doing for one job.
pub type MiddlewareFuture = Pin<Box<dyn Future<Output = MiddlewareResult> + Send>>;

/// Code around a push. A function or closure becomes one by [`from_fn`].
///
/// Two registrations of the same middleware are two calls: unlike the Ruby gem's classes, values of
/// one type may be set up differently.
pub trait Middleware: Send + Sync + 'static {
    /// Lets `job` pass by `next.run(job)`, perhaps changed, or stops it by returning `Ok(None)`.
    /// An error is passed to whoever pushes, and nothing is pushed.
    fn call(&self, job: NewJob, next: Next) -> MiddlewareFuture;
}

impl<M: Middleware + ?Sized> Middleware for Arc<M> {
    fn call(&self, job: NewJob, next: Next) -> MiddlewareFuture {
        (**self).call(job, next)
    }
}

/// A middleware made of a function; see [`from_fn`].
#[derive(Debug, Clone)]
pub struct FromFn<F>(F);

/// Makes a middleware of an async function of a [`NewJob`] and [`Next`].
pub fn from_fn<F, Fut>(function: F) -> FromFn<F>
where
    F: Fn(NewJob, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = MiddlewareResult> + Send + 'static,
{
    FromFn(function)
}

impl<F, Fut> Middleware for FromFn<F>
where
    F: Fn(NewJob, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = MiddlewareResult> + Send + 'static,
{
    fn call(&self, job: NewJob, next: Next) -> MiddlewareFuture {
        Box::pin((self.0)(job, next))
    }
}

/// The registered middlewares, outermost first.
pub(crate) type Chain = Arc<[Arc<dyn Middleware>]>;

/// The rest of the chain.
pub struct Next {
    chain: Chain,
    at: usize,
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("left", &(self.chain.len() - self.at)).finish()
    }
}

impl Next {
    pub(crate) fn first_of(chain: &Chain) -> Self {
        Self { chain: chain.clone(), at: 0 }
    }

    /// Hands the job on. Resolves to the job as it is going to be pushed, with the changes of the
    /// inner middlewares, or to `None` when one of them stopped it.
    ///
    /// # Errors
    /// Those of the inner middlewares.
    pub async fn run(self, job: NewJob) -> MiddlewareResult {
        match self.chain.get(self.at) {
            Some(middleware) => {
                let next = Self { chain: self.chain.clone(), at: self.at + 1 };
                middleware.call(job, next).await
            }
            None => Ok(Some(job)),
        }
    }
}

/// A middleware's own error. Nothing was pushed.
#[derive(Debug, Clone)]
pub struct MiddlewareError(Arc<dyn Error + Send + Sync>);

impl MiddlewareError {
    /// The error as the middleware returned it.
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl From<BoxError> for MiddlewareError {
    fn from(error: BoxError) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for MiddlewareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pass a job through the client middleware: {}", self.0)
    }
}

impl Error for MiddlewareError {
    /// What lies beneath the middleware's error, which the message tells.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
