//! What runs a job: functions whose first argument is the job.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use cogworker_core::args;
use cogworker_core::failure::Failure;
use cogworker_core::job::Job;
use cogworker_core::raw_job::RawJob;

use crate::context::{Context, RunScope};
use crate::job_error::JobResult;

/// A job's future, erased.
pub(crate) type JobFuture = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// A job's closure, erased.
pub(crate) type JobClosure = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

/// A job that is ready to run.
pub(crate) enum Prepared {
    /// To be polled.
    Async(JobFuture),
    /// To be called on a thread that may block.
    Blocking(JobClosure),
    /// It cannot be run: its args do not fit.
    Refused(Failure),
}

/// A job to prepare.
pub(crate) struct JobToRun<'a> {
    pub(crate) raw: &'a Bytes,
    pub(crate) view: &'a RawJob<'a>,
    pub(crate) queue: &'a std::sync::Arc<str>,
    pub(crate) scope: &'a std::sync::Arc<RunScope>,
}

/// Prepares jobs of one class; the state and the handler are captured inside.
pub(crate) type Prepare = Box<dyn Fn(JobToRun<'_>) -> Prepared + Send + Sync>;

/// An async handler: `async fn(job)` or `async fn(job, Context<S>)`.
///
/// `Shape` only tells the two apart and is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async job handler for the state `{S}`",
    note = "a handler is `async fn(job: J) -> R` or `async fn(job: J, ctx: Context<S>) -> R`, where `J` \
            implements `Job` and `R` is `()` or `Result<(), E>`; for a sync function use `job_blocking`"
)]
pub trait Handler<S, Shape>: Clone + Send + Sync + 'static {
    /// The job that the handler takes.
    type Job: Job;

    #[doc(hidden)]
    fn call(&self, job: Self::Job, context: impl FnOnce() -> Context<S>) -> PrivateFuture;
}

/// A blocking handler: `fn(job)` or `fn(job, Context<S>)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a blocking job handler for the state `{S}`",
    note = "a handler is `fn(job: J) -> R` or `fn(job: J, ctx: Context<S>) -> R`, where `J` implements \
            `Job` and `R` is `()` or `Result<(), E>`; for an async function use `job`"
)]
pub trait BlockingHandler<S, Shape>: Clone + Send + Sync + 'static {
    /// The job that the handler takes.
    type Job: Job;

    #[doc(hidden)]
    fn call(&self, job: Self::Job, context: impl FnOnce() -> Context<S>) -> PrivateClosure;
}

#[doc(hidden)]
pub struct PrivateFuture(JobFuture);

#[doc(hidden)]
pub struct PrivateClosure(JobClosure);

impl<S, F, J, Fut> Handler<S, (J,)> for F
where
    F: Fn(J) -> Fut + Clone + Send + Sync + 'static,
    J: Job,
    Fut: Future + Send + 'static,
    Fut::Output: JobResult,
{
    type Job = J;

    fn call(&self, job: J, _: impl FnOnce() -> Context<S>) -> PrivateFuture {
        let future = self(job);
        PrivateFuture(Box::pin(async move { future.await.into_result() }))
    }
}

impl<S, F, J, Fut> Handler<S, (J, Context<S>)> for F
where
    F: Fn(J, Context<S>) -> Fut + Clone + Send + Sync + 'static,
    J: Job,
    Fut: Future + Send + 'static,
    Fut::Output: JobResult,
{
    type Job = J;

    fn call(&self, job: J, context: impl FnOnce() -> Context<S>) -> PrivateFuture {
        let future = self(job, context());
        PrivateFuture(Box::pin(async move { future.await.into_result() }))
    }
}

impl<S, F, J, R> BlockingHandler<S, (J,)> for F
where
    F: Fn(J) -> R + Clone + Send + Sync + 'static,
    J: Job,
    R: JobResult,
{
    type Job = J;

    fn call(&self, job: J, _: impl FnOnce() -> Context<S>) -> PrivateClosure {
        let handler = self.clone();
        PrivateClosure(Box::new(move || handler(job).into_result()))
    }
}

impl<S, F, J, R> BlockingHandler<S, (J, Context<S>)> for F
where
    S: Send + Sync + 'static,
    F: Fn(J, Context<S>) -> R + Clone + Send + Sync + 'static,
    J: Job,
    R: JobResult,
{
    type Job = J;

    fn call(&self, job: J, context: impl FnOnce() -> Context<S>) -> PrivateClosure {
        let handler = self.clone();
        let context = context();
        PrivateClosure(Box::new(move || handler(job, context).into_result()))
    }
}

/// Erases an async handler.
pub(crate) fn prepare_async<S, Shape, H>(handler: H, state: std::sync::Arc<S>) -> Prepare
where
    S: Send + Sync + 'static,
    H: Handler<S, Shape>,
{
    Box::new(move |run| match decode::<H::Job>(&run) {
        Ok(job) => Prepared::Async(handler.call(job, || Context::new(&run, &state)).0),
        Err(failure) => Prepared::Refused(failure),
    })
}

/// Erases a blocking handler.
pub(crate) fn prepare_blocking<S, Shape, H>(handler: H, state: std::sync::Arc<S>) -> Prepare
where
    S: Send + Sync + 'static,
    H: BlockingHandler<S, Shape>,
{
    Box::new(move |run| match decode::<H::Job>(&run) {
        Ok(job) => Prepared::Blocking(handler.call(job, || Context::new(&run, &state)).0),
        Err(failure) => Prepared::Refused(failure),
    })
}

fn decode<J: Job>(run: &JobToRun<'_>) -> Result<J, Failure> {
    args::decode(J::CLASS, run.view.args_json()).map_err(|error| Failure::bad_args(&error.to_string()))
}
