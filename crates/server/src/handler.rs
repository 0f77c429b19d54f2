//! What runs a job: functions whose first argument is the job.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cogworker_core::args;
use cogworker_core::failure::Failure;
use cogworker_core::job::Job;

use crate::context::Context;
use crate::job_error::JobResult;
use crate::run::Run;

/// A job's future, erased.
pub(crate) type JobFuture = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// A job's closure, erased.
pub(crate) type JobClosure = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

/// A job that is ready to run. Reading its args is a part of the run: it is the application's
/// code, and may take long.
pub(crate) enum Prepared {
    /// To be polled.
    Async(JobFuture),
    /// To be called on a thread that may block.
    Blocking(JobClosure),
}

/// Prepares jobs of one class; the state and the handler are captured inside.
pub(crate) type Prepare = Arc<dyn Fn(&Run) -> Prepared + Send + Sync>;

/// An async handler: `async fn(job)` or `async fn(job, Context<S>)`.
///
/// `Shape` only tells the two apart and is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an async job handler for the state `{S}`",
    note = "a handler is `async fn(job: J) -> R` or `async fn(job: J, ctx: Context<S>) -> R`, where `J` \
            implements `Job` and `R` is `()` or `Result<(), E>`, and its future is `Send`: nothing that is \
            not, such as an `Rc` or a `std::sync::MutexGuard`, may be held over an `.await`; for a sync function \
            use `job_blocking`"
)]
pub trait Handler<S, Shape>: Clone + Send + Sync + 'static {
    /// The job that the handler takes.
    type Job: Job;

    #[doc(hidden)]
    fn call(&self, args: PrivateArgs, context: impl FnOnce() -> Context<S>) -> PrivateFuture;
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
    fn call(&self, args: PrivateArgs, context: impl FnOnce() -> Context<S>) -> PrivateClosure;
}

/// A job's args as stored, still to be read.
#[doc(hidden)]
pub struct PrivateArgs(Run);

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

    fn call(&self, args: PrivateArgs, _: impl FnOnce() -> Context<S>) -> PrivateFuture {
        let handler = self.clone();
        PrivateFuture(Box::pin(async move { handler(args.read()?).await.into_result() }))
    }
}

impl<S, F, J, Fut> Handler<S, (J, Context<S>)> for F
where
    S: Send + Sync + 'static,
    F: Fn(J, Context<S>) -> Fut + Clone + Send + Sync + 'static,
    J: Job,
    Fut: Future + Send + 'static,
    Fut::Output: JobResult,
{
    type Job = J;

    fn call(&self, args: PrivateArgs, context: impl FnOnce() -> Context<S>) -> PrivateFuture {
        let (handler, context) = (self.clone(), context());
        PrivateFuture(Box::pin(async move { handler(args.read()?, context).await.into_result() }))
    }
}

impl<S, F, J, R> BlockingHandler<S, (J,)> for F
where
    F: Fn(J) -> R + Clone + Send + Sync + 'static,
    J: Job,
    R: JobResult,
{
    type Job = J;

    fn call(&self, args: PrivateArgs, _: impl FnOnce() -> Context<S>) -> PrivateClosure {
        let handler = self.clone();
        PrivateClosure(Box::new(move || handler(args.read()?).into_result()))
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

    fn call(&self, args: PrivateArgs, context: impl FnOnce() -> Context<S>) -> PrivateClosure {
        let (handler, context) = (self.clone(), context());
        PrivateClosure(Box::new(move || handler(args.read()?, context).into_result()))
    }
}

/// Erases an async handler.
pub(crate) fn prepare_async<S, Shape, H>(handler: H, state: Arc<S>) -> Prepare
where
    S: Send + Sync + 'static,
    H: Handler<S, Shape>,
{
    let timeout = H::Job::options().limit();
    Arc::new(move |run| {
        let prepare = |run: &Run| handler.call(PrivateArgs(run.clone()), || Context::new(run, &state)).0;
        Prepared::Async(match timeout {
            Some(limit) => {
                let call = run.for_a_call();
                Box::pin(limited(prepare(&call), limit, call))
            }
            None => prepare(run),
        })
    })
}

/// Erases a blocking handler.
pub(crate) fn prepare_blocking<S, Shape, H>(handler: H, state: Arc<S>) -> Prepare
where
    S: Send + Sync + 'static,
    H: BlockingHandler<S, Shape>,
{
    let timeout = H::Job::options().limit();
    Arc::new(move |run| {
        let prepare = |run: &Run| handler.call(PrivateArgs(run.clone()), || Context::new(run, &state)).0;
        Prepared::Blocking(match timeout {
            Some(limit) => {
                let call = run.for_a_call();
                let closure = prepare(&call);
                Box::new(move || watched(closure, limit, &call))
            }
            None => prepare(run),
        })
    })
}

/// Ends a run that takes too long: it is dropped where it waits.
async fn limited(future: JobFuture, limit: Duration, call: Run) -> Result<(), Failure> {
    match tokio::time::timeout(limit, future).await {
        Ok(result) => result,
        Err(_) => {
            call.expire();
            Err(took_too_long(limit))
        }
    }
}

/// A blocking run cannot be ended: it is asked to, and what it then says is what counts.
fn watched(closure: JobClosure, limit: Duration, call: &Run) -> Result<(), Failure> {
    let overdue = call.clone();
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return closure() };
    let watch = runtime.spawn(async move {
        tokio::time::sleep(limit).await;
        overdue.expire();
    });
    let result = closure();
    watch.abort();
    result
}

fn took_too_long(limit: Duration) -> Failure {
    Failure::new("Timeout", format!("ran longer than {} s", limit.as_secs_f64()))
}

impl PrivateArgs {
    fn read<J: Job>(&self) -> Result<J, Failure> {
        args::decode(J::CLASS, self.0.args_json()).map_err(|error| Failure::bad_args(&error.to_string()))
    }
}
