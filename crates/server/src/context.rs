//! What a handler may know and do besides its args.

use std::sync::Arc;

use bytes::Bytes;
use cogworker_client::Client;
use cogworker_core::jid::Jid;
use tokio_util::sync::CancellationToken;

use crate::performer::detached_run;
use crate::run::Run;

/// The run of a job, seen by its handler. Cheap to clone.
pub struct Context<S = ()> {
    run: Run,
    state: Arc<S>,
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), state: self.state.clone() }
    }
}

impl<S> std::fmt::Debug for Context<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("run", &self.run).finish_non_exhaustive()
    }
}

impl<S> Context<S> {
    pub(crate) fn new(run: &Run, state: &Arc<S>) -> Self {
        Self { run: run.clone(), state: state.clone() }
    }

    /// The run of a job that no worker has; see `cogworker_testing`.
    #[doc(hidden)]
    pub fn detached(client: Client, job: &Bytes, state: S) -> Self {
        Self { run: detached_run(client, job), state: Arc::new(state) }
    }

    /// The run, as middleware sees it.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The job's id.
    pub fn jid(&self) -> &Jid {
        self.run.jid()
    }

    /// The job's class.
    pub fn class(&self) -> &str {
        self.run.class()
    }

    /// The queue it came from.
    pub fn queue(&self) -> &str {
        self.run.queue()
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.run.attempt()
    }

    /// The job as stored in Redis, byte for byte.
    pub fn raw(&self) -> &Bytes {
        self.run.raw()
    }

    /// The application's state.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// A client on the worker's own connection, to enqueue further jobs. Closing it does nothing:
    /// the connection is the worker's.
    pub fn client(&self) -> &Client {
        self.run.client()
    }

    /// Waits until the job should end soon: at the shutdown limit, at its class's
    /// [timeout](cogworker_core::options::JobOptions::timeout), or because this process lost
    /// it. After the first the job is cut off and run again from the start, here or elsewhere, unless
    /// it ends within about a second; after the last another process may be running it already.
    ///
    /// A job that has to tidy up first then ends with [`JobError::interrupted`](crate::JobError::interrupted),
    /// which puts it back; any other error is a failure and uses up a retry.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use cogworker_server::{Context, JobError};
    /// async fn wait_for_mail(ctx: &Context) -> Result<(), JobError> {
    ///     tokio::select! {
    ///         () = ctx.cancelled() => Err(JobError::interrupted()),
    ///         () = tokio::time::sleep(Duration::from_secs(600)) => Ok(()),
    ///     }
    /// }
    /// ```
    pub async fn cancelled(&self) {
        self.run.cancelled().await;
    }

    /// True once [`cancelled`](Self::cancelled) would return at once: for loops of blocking
    /// handlers to look at.
    pub fn is_cancelled(&self) -> bool {
        self.run.token().is_cancelled()
    }

    /// The same as a token, to hand on to what a job starts.
    pub fn cancellation(&self) -> CancellationToken {
        self.run.cancellation()
    }
}
