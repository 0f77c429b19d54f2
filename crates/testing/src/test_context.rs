//! Contexts for handlers that a test calls itself.

use cogworker_core::new_job::{NewJob, NewJobError};
use cogworker_server::Context;

use crate::Fake;

/// A context with `state` and a client of a [`Fake`] of its own: a first attempt, on queue `default`. For
/// handlers that push jobs or look at their own, see [`context_of`].
///
/// ```
/// use cogworker_server::Context;
/// # struct Greeting(String);
/// # struct Greeter { word: &'static str }
///
/// async fn greet(job: Greeting, ctx: Context<Greeter>) -> String {
///     format!("{}, {}!", ctx.state().word, job.0)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let ctx = cogworker_testing::context(Greeter { word: "Hello" });
/// assert_eq!(greet(Greeting("world".into()), ctx).await, "Hello, world!");
/// # }
/// ```
pub fn context<S>(state: S) -> Context<S> {
    let raw = br#"{"class":"TestJob","jid":"000000000000000000000000","args":[],"queue":"default"}"#;
    Context::detached(Fake::new().client(), &raw.as_slice().into(), state)
}

/// The context of `job`, with a client of `fake`. Set `retry_count` to 1 for a second attempt.
///
/// ```
/// use cogworker_core::new_job::NewJob;
/// use cogworker_testing::{Fake, context_of};
///
/// let job = NewJob::new("GreetingJob").args(["world"]).queue("low").set("retry_count", 1);
/// let ctx = context_of(&Fake::new(), job, ())?;
/// assert_eq!((ctx.queue(), ctx.attempt()), ("low", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the job could not be pushed.
pub fn context_of<S>(fake: &Fake, job: impl Into<NewJob>, state: S) -> Result<Context<S>, NewJobError> {
    let (mut job, now) = (job.into(), fake.now());
    job.prepare(now)?;
    Ok(Context::detached(fake.client(), &job.payload(Some(now)).into(), state))
}

/// Asks a run to end, as a worker does at its shutdown limit.
pub fn interrupt<S>(context: &Context<S>) {
    context.run().interrupt();
}
