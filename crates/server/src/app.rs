//! The application: which handler runs which class.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cogworker_core::failure::Failure;
use cogworker_core::history_limits::HistoryLimits;
use cogworker_core::job::Job;

use crate::client_chain::ClientChain;
use crate::handler::{BlockingHandler, Handler, Prepare, prepare_async, prepare_blocking};
use crate::hooks::{DeathHook, FailedJob, RetryHook, RetryIn, death_hook};
use crate::job_error::BoxError;
use crate::middleware::{JobService, Layers};
use crate::performer::Performer;
use crate::periodic::{Periodic, Schedule};
use crate::run::Run;

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
    classes: Classes,
    layers: Layers,
    client_chain: ClientChain,
    hooks: Hooks,
    schedule: Schedule,
    status_ttl: Option<Duration>,
    history: Option<HistoryLimits>,
}

/// What handlers were registered for, in order.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// Each class with the queue that its jobs go to unless a push says otherwise.
    pub(crate) queues: Vec<(&'static str, String)>,
    /// A class that has two handlers.
    pub(crate) repeated: Option<&'static str>,
}

impl Classes {
    fn add<J: Job>(&mut self) {
        if self.queues.iter().any(|(class, _)| *class == J::CLASS) {
            self.repeated.get_or_insert(J::CLASS);
            return;
        }
        let queue = J::options().queue_name().unwrap_or_else(|| "default".to_owned());
        self.queues.push((J::CLASS, queue));
    }
}

/// What failures are told to.
#[derive(Default, Clone)]
pub(crate) struct Hooks {
    pub(crate) retry_in: HashMap<&'static str, RetryHook>,
    pub(crate) exhausted: HashMap<&'static str, DeathHook>,
    pub(crate) death: Vec<DeathHook>,
}

impl<S> std::fmt::Debug for App<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("classes", &self.handlers.keys()).finish_non_exhaustive()
    }
}

impl<S: Send + Sync + 'static> App<S> {
    /// An application whose handlers share `state`.
    pub fn new(state: S) -> Self {
        Self {
            state: Arc::new(state),
            handlers: HashMap::new(),
            classes: Classes::default(),
            layers: Layers::default(),
            client_chain: ClientChain::default(),
            hooks: Hooks::default(),
            schedule: Schedule::default(),
            status_ttl: None,
            history: None,
        }
    }

    /// Runs jobs of the handler's class by an async function. With two handlers for one class, which is
    /// mostly a class name that was copied along, a worker does not start
    /// ([`ServerError::TwoHandlers`](crate::ServerError::TwoHandlers)).
    ///
    /// The function should not block its thread for more than a millisecond or so; for work
    /// that does, see [`job_blocking`](Self::job_blocking). Its future must be `Send`, as a run may change
    /// threads wherever it awaits.
    #[must_use]
    pub fn job<Shape, H: Handler<S, Shape>>(mut self, handler: H) -> Self {
        self.classes.add::<H::Job>();
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
        self.classes.add::<H::Job>();
        self.handlers.insert(H::Job::CLASS, prepare_blocking(handler, self.state.clone()));
        self
    }

    /// Puts a middleware around every run: a function, by [`from_fn`](crate::middleware::from_fn), or any
    /// [`tower::Layer`], such as a timeout or a concurrency limit. The first that is added is the
    /// outermost, as in tower's `ServiceBuilder`. See [`middleware`](crate::middleware).
    #[must_use]
    pub fn middleware<L>(mut self, middleware: L) -> Self
    where
        L: tower::Layer<JobService> + Send + 'static,
        L::Service: tower::Service<Run, Response = ()> + Clone + Send + Sync + 'static,
        <L::Service as tower::Service<Run>>::Error: Into<BoxError>,
        <L::Service as tower::Service<Run>>::Future: Send + 'static,
    {
        self.layers.add(middleware);
        self
    }

    /// Puts a [client middleware](cogworker_client::middleware) around everything that the worker pushes: by
    /// its jobs, through their context's client, and as [periodic jobs](Self::periodic). The first that is
    /// added is the outermost.
    ///
    /// ```
    /// use cogworker_client::middleware::{MiddlewareResult, Next, from_fn};
    /// use cogworker_core::new_job::NewJob;
    /// use cogworker_server::App;
    ///
    /// async fn tag(job: NewJob, next: Next) -> MiddlewareResult {
    ///     next.run(job.set("tags", ["worker"])).await
    /// }
    ///
    /// let app = App::new(()).client_middleware(from_fn(tag));
    /// ```
    #[must_use]
    pub fn client_middleware(mut self, middleware: impl cogworker_client::middleware::Middleware) -> Self {
        self.client_chain.add(middleware);
        self
    }

    /// Decides what becomes of a failed job of class `J` that has retries left. The hook is given
    /// how many attempts had failed before, the failure and the job (HOOK-01). It should be quick,
    /// as it is asked where the job ran.
    ///
    /// ```
    /// use std::time::Duration;
    /// # use cogworker_core::job::Job;
    /// use cogworker_server::{App, RetryIn};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Charge(u64);
    /// # impl Job for Charge { const CLASS: &'static str = "ChargeJob"; }
    /// # async fn charge(_: Charge) {}
    ///
    /// let app = App::new(()).job(charge).retry_in::<Charge>(|count, failure, _job| {
    ///     match failure.class.as_str() {
    ///         "CardDeclined" => RetryIn::Kill,
    ///         _ => RetryIn::After(Duration::from_secs(600 << count.min(10))),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn retry_in<J: Job>(
        mut self,
        hook: impl Fn(u32, &Failure, &FailedJob) -> RetryIn + Send + Sync + 'static,
    ) -> Self {
        self.hooks.retry_in.insert(J::CLASS, Arc::new(hook));
        self
    }

    /// Hears of each job of class `J` that came into dead, once, after it did (DEATH-01, DEATH-08,
    /// DEATH-09). The job is the entry as stored there. Of a death that was not filed by the process that ran
    /// the job the failure has a class of its own: `Cogworker::JobOrphanedError` when processes died too often,
    /// `Cogworker::JobFailedError` when a failure was filed later (DEATH-06, DEATH-07).
    #[must_use]
    pub fn retries_exhausted<J: Job, F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(FailedJob, Failure) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.exhausted.insert(J::CLASS, death_hook(hook));
        self
    }

    /// Hears of each job of any class that came into dead, after the hook of its class; several are
    /// called in the order of registration.
    #[must_use]
    pub fn death_handler<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(FailedJob, Failure) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.death.push(death_hook(hook));
        self
    }

    /// Pushes a job whenever a cron is due; see [`Periodic`].
    #[must_use]
    pub fn periodic(mut self, entry: Periodic) -> Self {
        self.schedule.add(entry);
        self
    }

    /// Drops the periodic entries registered so far, and lets those that follow take the place of
    /// everything that any process has published: entries that are gone from the code vanish from the
    /// schedule that others see (PENT-06).
    #[must_use]
    pub fn replace_periodic(mut self) -> Self {
        self.schedule.replace();
        self
    }

    /// Keeps a record of every run, and counters for each day (HIST-01 to HIST-10). By default none is
    /// kept. Each worker trims by its own limits, so those of one Redis should have the same.
    ///
    /// ```
    /// use std::time::Duration;
    /// use cogworker_server::{App, HistoryLimits};
    ///
    /// let app = App::new(()).history(HistoryLimits::new().retention(Duration::from_secs(7 * 24 * 3600)));
    /// ```
    #[must_use]
    pub fn history(mut self, limits: HistoryLimits) -> Self {
        self.history = Some(limits);
        self
    }

    /// Keeps a status of every job, which tells whether it is queued, working, retrying, complete or
    /// failed (STAT-02, STAT-03), and lets it report progress
    /// ([`Context::at`](crate::Context::at)); it is kept for `expiration` after its last write.
    #[must_use]
    pub fn status(mut self, expiration: Duration) -> Self {
        self.status_ttl = Some(expiration);
        self
    }

    /// A class that has two handlers, with which no worker starts; see `cogworker_testing`.
    #[doc(hidden)]
    pub fn class_with_two_handlers(&self) -> Option<&'static str> {
        self.classes.repeated
    }

    /// Runs its jobs without a worker; see `cogworker_testing`.
    #[doc(hidden)]
    pub fn performer(&self) -> Performer {
        let chain = self.layers.service(&Arc::new(self.handlers.clone()));
        let mut hooks = self.hooks.clone();
        // A class without a handler has none to ask (HOOK-12).
        hooks.retry_in.retain(|class, _| self.handlers.contains_key(class));
        Performer::new(chain, self.client_chain.clone(), hooks, self.schedule.clone())
    }

    pub(crate) fn into_registry(self) -> Registry {
        let handlers = Arc::new(self.handlers);
        Registry {
            chain: self.layers.around(&handlers),
            handlers,
            classes: self.classes,
            client_chain: self.client_chain,
            hooks: self.hooks,
            schedule: self.schedule,
            status_ttl: self.status_ttl,
            history: self.history,
        }
    }
}

/// An application with its state type erased.
pub(crate) struct Registry {
    pub(crate) handlers: Arc<HashMap<&'static str, Prepare>>,
    pub(crate) classes: Classes,
    /// The middleware around them, if there is any.
    pub(crate) chain: Option<JobService>,
    pub(crate) client_chain: ClientChain,
    pub(crate) hooks: Hooks,
    pub(crate) schedule: Schedule,
    pub(crate) status_ttl: Option<Duration>,
    pub(crate) history: Option<HistoryLimits>,
}
