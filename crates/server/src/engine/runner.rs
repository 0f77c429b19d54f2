//! Starts jobs: finds the handler, reads the args, and runs it in place, as a task or on a
//! blocking thread.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

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
use crate::context::{Cancellation, RunScope};
use crate::handler::{JobToRun, Prepare, Prepared};
use crate::panic_guard::{Contained, contain};

/// The end of a run that took a task or a thread.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) run: RunId,
    pub(crate) result: Result<(), Failure>,
    /// Its longest stretch without giving the thread back.
    pub(crate) longest_poll: Duration,
}

/// What starting a job came to.
pub(crate) enum Started {
    /// It is over already.
    Ended(Result<(), Failure>),
    /// It goes on elsewhere and will send [`Finished`]; a blocking run cannot be aborted.
    GoesOn { abort: Option<AbortHandle>, cancellation: Cancellation },
}

struct Class {
    prepare: Prepare,
    pace: ClassPace,
}

pub(crate) struct Runner {
    classes: Vec<Class>,
    by_name: HashMap<&'static str, usize>,
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
        for (name, prepare) in registry.handlers {
            by_name.insert(name, classes.len());
            names.push(name);
            classes.push(Class { prepare, pace: ClassPace::default() });
        }
        pulse.name_classes(names);
        Self { classes, by_name, scope, jobs, pulse, finished }
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

    /// Starts a job. `occupy` is called before anything that outlives this call.
    pub(crate) fn start(
        &mut self,
        claim: &Claim,
        job: &RawJob<'_>,
        class: usize,
        occupy: impl FnOnce() -> Option<RunId>,
    ) -> Started {
        let Some(entry) = self.classes.get_mut(class) else {
            let known = self.by_name.keys().copied();
            return Started::Ended(Err(Failure::unknown_class(job.class(), known)));
        };
        let _polling = self.pulse.polling(class);
        let cancellation = Cancellation::default();
        let to_run = JobToRun {
            raw: &claim.raw,
            view: job,
            queue: &claim.queue,
            scope: &self.scope,
            cancellation: &cancellation,
        };
        // Cloning the handler is the application's code.
        let future = match contain(|| (entry.prepare)(to_run)) {
            Err(failure) => return Started::Ended(Err(failure)),
            Ok(Prepared::Async(future)) => future,
            Ok(Prepared::Blocking(closure)) => {
                let Some(run) = occupy() else { return Started::GoesOn { abort: None, cancellation } };
                let report = Report { run, finished: self.finished.clone() };
                self.jobs.spawn_blocking(move || {
                    let result = contain(closure).and_then(|result| result);
                    // Blocking work never proves itself quick enough for the engine's thread.
                    report.send(result, Duration::MAX);
                });
                return Started::GoesOn { abort: None, cancellation };
            }
        };
        let mut future = Contained(Some(future));
        if entry.pace.may_run_in_place() {
            let begun = Instant::now();
            let polled = pin!(&mut future).poll(&mut Context::from_waker(Waker::noop()));
            entry.pace.polled(begun.elapsed());
            if let Poll::Ready(result) = polled {
                if result.as_ref().is_err_and(|failure| failure.class == "Panic") {
                    entry.pace.panicked_in_place();
                }
                return Started::Ended(result);
            }
        }
        let Some(run) = occupy() else { return Started::GoesOn { abort: None, cancellation } };
        let report = Report { run, finished: self.finished.clone() };
        let task = self.jobs.spawn(async move {
            let (result, longest_poll) = Measured { future, longest: Duration::ZERO }.await;
            report.send(result, longest_poll);
        });
        Started::GoesOn { abort: Some(task.abort_handle()), cancellation }
    }
}

/// Tells the engine how a run ended, even if it unwinds past everything that contains it.
struct Report {
    run: RunId,
    finished: UnboundedSender<Finished>,
}

impl Report {
    fn send(&self, result: Result<(), Failure>, longest_poll: Duration) {
        let _ = self.finished.send(Finished { run: self.run, result, longest_poll });
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // An aborted task is dropped too, and says nothing: its job is given back.
        if std::thread::panicking() {
            self.send(Err(Failure::panic("a panic that could not be contained", None)), Duration::MAX);
        }
    }
}

/// A job's future that measures its polls.
struct Measured {
    future: Contained,
    longest: Duration,
}

impl Future for Measured {
    type Output = (Result<(), Failure>, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let begun = Instant::now();
        let polled = Pin::new(&mut self.future).poll(cx);
        self.longest = self.longest.max(begun.elapsed());
        polled.map(|result| (result, self.longest))
    }
}
