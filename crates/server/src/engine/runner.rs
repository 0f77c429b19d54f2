//! Starts jobs: finds the handler, reads the args, and runs it in place, as a task or on a
//! blocking thread.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::raw_job::RawJob;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::claim::Claim;
use super::pace::ClassPace;
use super::pulse::Pulse;
use super::slots::RunId;
use crate::app::Registry;
use crate::handler::{Prepare, Prepared};
use crate::hooks::{RetryHook, RetryIn, ask};
use crate::logging::as_run;
use crate::middleware::{JobService, through};
use crate::panic_guard::{Contained, contain};
use crate::run::{Run, RunScope};

/// The end of a run that took a task or a thread.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) run: RunId,
    pub(crate) result: Result<(), Failed>,
    /// Its longest stretch without giving the thread back.
    pub(crate) longest_poll: Duration,
}

/// A failure, and what the hook of its class decided about it.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) retry_in: RetryIn,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { failure, retry_in: RetryIn::Default }
    }
}

/// What starting a job came to.
pub(crate) enum Started {
    /// It is over already.
    Ended(Result<(), Failed>),
    /// It goes on elsewhere and will send [`Finished`]; a blocking run cannot be aborted.
    GoesOn(Option<AbortHandle>),
}

struct Class {
    prepare: Prepare,
    pace: ClassPace,
    retry_in: Option<RetryHook>,
}

pub(crate) struct Runner {
    classes: Vec<Class>,
    by_name: HashMap<&'static str, usize>,
    /// The middleware, if there is any.
    chain: Option<JobService>,
    scope: Arc<RunScope>,
    jobs: Handle,
    pulse: Arc<Pulse>,
    finished: UnboundedSender<Finished>,
}

/// The class index of jobs without a handler.
pub(crate) const NO_CLASS: usize = usize::MAX;

impl Runner {
    pub(crate) fn new(
        registry: Registry,
        scope: Arc<RunScope>,
        jobs: Handle,
        pulse: Arc<Pulse>,
        finished: UnboundedSender<Finished>,
    ) -> Self {
        let mut classes = Vec::new();
        let mut by_name = HashMap::new();
        let mut names = Vec::new();
        for (name, prepare) in registry.handlers.iter() {
            by_name.insert(*name, classes.len());
            names.push(*name);
            classes.push(Class {
                prepare: prepare.clone(),
                pace: ClassPace::default(),
                retry_in: registry.hooks.retry_in.get(name).cloned(),
            });
        }
        pulse.name_classes(names);
        Self { classes, by_name, chain: registry.chain, scope, jobs, pulse, finished }
    }

    /// The class of a claim, to be given to [`start`](Self::start).
    pub(crate) fn class_of(&self, job: &RawJob<'_>) -> usize {
        self.by_name.get(job.class()).copied().unwrap_or(NO_CLASS)
    }

    /// Notes how long a run of the class held its thread.
    pub(crate) fn polled(&mut self, class: usize, longest_poll: Duration) {
        if let Some(class) = self.classes.get_mut(class) {
            class.pace.polled(longest_poll);
        }
    }

    /// The run of a claim, to be given to [`start`](Self::start).
    pub(crate) fn run_of(&self, claim: &Claim, job: &RawJob<'_>) -> Run {
        Run::new(&claim.raw, job, &claim.queue, &self.scope)
    }

    /// Starts a run. `occupy` is called before anything that outlives this call.
    pub(crate) fn start(
        &mut self,
        run: &Run,
        class: usize,
        occupy: impl FnOnce() -> Option<RunId>,
    ) -> Started {
        let mut unknown = None;
        let Some(entry) = self.classes.get_mut(class).or_else(|| {
            let prepare = self.chain.as_ref()?.clone();
            let through_chain = move |run: &Run| Prepared::Async(through(prepare.clone(), run.clone()));
            let pace = ClassPace::default();
            Some(unknown.insert(Class { prepare: Arc::new(through_chain), pace, retry_in: None }))
        }) else {
            let failure = Failure::unknown_class(run.class(), self.by_name.keys().copied());
            #[cfg(feature = "otel")]
            crate::tracing_runs::failed(&failure, run);
            return Started::Ended(Err(failure.into()));
        };
        let _polling = self.pulse.polling(class);
        let hook = entry.retry_in.clone().map(|hook| (hook, run.raw().clone()));
        // Cloning the handler or the middleware is the application's code.
        let prepared = match &self.chain {
            Some(chain) => contain(|| Prepared::Async(through(chain.clone(), run.clone()))),
            None => contain(|| (entry.prepare)(run)),
        };
        #[cfg(feature = "otel")]
        let prepared = crate::tracing_runs::traced(prepared, run);
        let future = match prepared {
            Err(failure) => return Started::Ended(Err(decided(failure, hook))),
            Ok(Prepared::Async(future)) => future,
            Ok(Prepared::Blocking(closure)) => {
                let Some(id) = occupy() else { return Started::GoesOn(None) };
                let report = Report { run: id, finished: self.finished.clone() };
                let mut run = Some(run.clone());
                self.jobs.spawn_blocking(move || {
                    let result = as_run(&mut run, || {
                        let result = contain(closure).and_then(|result| result);
                        result.map_err(|failure| decided(failure, hook))
                    });
                    // Blocking work never proves itself quick enough for the engine's thread.
                    report.send(result, Duration::MAX);
                });
                return Started::GoesOn(None);
            }
        };
        let mut future = Asking { future: Contained(Some(future)), hook, run: Some(run.clone()) };
        if entry.pace.may_run_in_place() {
            let begun = Instant::now();
            let polled = pin!(&mut future).poll(&mut Context::from_waker(Waker::noop()));
            entry.pace.polled(begun.elapsed());
            if let Poll::Ready(result) = polled {
                if result.as_ref().is_err_and(|failed| failed.failure.class == "Panic") {
                    entry.pace.panicked_in_place();
                }
                return Started::Ended(result);
            }
        }
        let Some(id) = occupy() else { return Started::GoesOn(None) };
        let report = Report { run: id, finished: self.finished.clone() };
        let task = self.jobs.spawn(async move {
            let (result, longest_poll) = Measured { future, longest: Duration::ZERO }.await;
            report.send(result, longest_poll);
        });
        Started::GoesOn(Some(task.abort_handle()))
    }
}

/// A hook and the job that it is asked about.
type Question = Option<(RetryHook, Bytes)>;

fn decided(failure: Failure, question: Question) -> Failed {
    let retry_in = question.map_or(RetryIn::Default, |(hook, raw)| ask(&hook, &raw, &failure));
    Failed { failure, retry_in }
}

/// A job's future that asks the hook of its class about a failure, where the job ran (HOOK-17).
struct Asking {
    future: Contained,
    hook: Question,
    /// For the log; lent to the thread while it is polled.
    run: Option<Run>,
}

impl Future for Asking {
    type Output = Result<(), Failed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { future, hook, run } = &mut *self;
        as_run(run, || {
            let polled = Pin::new(future).poll(cx);
            polled.map(|result| result.map_err(|failure| decided(failure, hook.take())))
        })
    }
}

/// Tells the engine how a run ended, even if it unwinds past everything that contains it.
struct Report {
    run: RunId,
    finished: UnboundedSender<Finished>,
}

impl Report {
    fn send(&self, result: Result<(), Failed>, longest_poll: Duration) {
        let _ = self.finished.send(Finished { run: self.run, result, longest_poll });
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // An aborted task is dropped too, and says nothing: its job is given back.
        if std::thread::panicking() {
            let failure = Failure::panic("a panic that could not be contained", None);
            self.send(Err(failure.into()), Duration::MAX);
        }
    }
}

/// A job's future that measures its polls.
struct Measured {
    future: Asking,
    longest: Duration,
}

impl Future for Measured {
    type Output = (Result<(), Failed>, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let begun = Instant::now();
        let polled = Pin::new(&mut self.future).poll(cx);
        self.longest = self.longest.max(begun.elapsed());
        polled.map(|result| (result, self.longest))
    }
}
