//! A client whose jobs stay in memory.

mod fake_error;
mod fake_job;
mod held;
mod store;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cogworker_client::{Client, Sink};
use cogworker_core::job::Job;
use cogworker_core::payload_edit;
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, Fate, Performer};
use serde_json::Value;

pub use fake_error::FakeError;
pub use fake_job::FakeJob;
use held::Held;
use store::{Place, Store, Stored};

/// Jobs in memory instead of Redis, and a clock that a test can move.
///
/// [`client`](Self::client) gives clients that check jobs, fail and take them through middleware as in
/// production, and refuse duplicates of unique jobs; only they end here. Nothing about it is global: what a fake
/// sees was pushed through its own clients, in whatever task that happened. Clones are the same fake.
///
/// ```
/// use cogworker_core::job::Job;
/// use cogworker_server::App;
/// use cogworker_testing::{Fake, assert_enqueued};
/// # use serde::{Deserialize, Serialize};
///
/// # #[derive(Serialize, Deserialize)]
/// # struct Greeting(String);
/// # impl Job for Greeting { const CLASS: &'static str = "GreetingJob"; }
/// # async fn greet(_: Greeting) {}
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fake = Fake::new();
/// fake.client().perform_async(&Greeting("world".into())).await?;
/// assert_enqueued!(fake, Greeting("world".into()));
///
/// fake.drain_all(&App::new(()).job(greet)).await?;
/// assert!(fake.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Fake {
    store: Arc<Store>,
}

/// An application whose jobs a fake can run: an [`App`]. One with which no worker would start, since two handlers have the
/// same class, fails the test.
pub trait Application {
    #[doc(hidden)]
    fn performer(&self) -> Performer;
}

impl<S: Send + Sync + 'static> Application for App<S> {
    #[track_caller]
    fn performer(&self) -> Performer {
        let repeated = self.class_with_two_handlers();
        assert!(repeated.is_none(), "class {} has two handlers", repeated.unwrap_or_default());
        App::performer(self)
    }
}

impl Default for Fake {
    fn default() -> Self {
        Self::new()
    }
}

impl Fake {
    /// A fake without jobs. Its clock is the host's, until it is [advanced](Self::advance).
    pub fn new() -> Self {
        Self { store: Arc::new(Store::new(None)) }
    }

    /// A fake whose clock stands still at `time` but for [`advance`](Self::advance).
    pub fn frozen_at(time: SystemTime) -> Self {
        Self { store: Arc::new(Store::new(Some(time.into()))) }
    }

    /// A client of this fake. Give it the middleware that the application's own has. Only pushing and
    /// `unique_lock` work: what asks Redis fails with
    /// [`RedisError::Absent`](cogworker_core::redis::RedisError::Absent).
    pub fn client(&self) -> Client {
        Client::from_sink(self.store.clone())
    }

    /// The time by the fake's clock.
    pub fn now(&self) -> EpochSeconds {
        self.store.now()
    }

    /// Moves the clock on: scheduled jobs and retries are due for [`drain`](Self::drain) once it reaches
    /// their time, and locks lapse.
    pub fn advance(&self, by: Duration) {
        self.store.advance(by);
    }

    /// The jobs of class `J` that wait, due or not, the oldest first. Failed ones are among the
    /// [`retries`](Self::retries).
    ///
    /// # Panics
    /// When args of one are not those of `J`, as its handler would fail.
    #[track_caller]
    pub fn jobs<J: Job>(&self) -> Vec<FakeJob<J>> {
        self.typed(Place::Waiting)
    }

    /// Failed jobs of class `J` that will be tried again.
    ///
    /// # Panics
    /// As [`jobs`](Self::jobs).
    #[track_caller]
    pub fn retries<J: Job>(&self) -> Vec<FakeJob<J>> {
        self.typed(Place::Retry)
    }

    /// Jobs of class `J` that failed for good.
    ///
    /// # Panics
    /// As [`jobs`](Self::jobs).
    #[track_caller]
    pub fn dead<J: Job>(&self) -> Vec<FakeJob<J>> {
        self.typed(Place::Dead)
    }

    #[track_caller]
    fn typed<J: Job>(&self, place: Place) -> Vec<FakeJob<J>> {
        let stored = self.store.all(|job| job.place == place && job.class == J::CLASS);
        stored.into_iter().map(FakeJob::read).collect()
    }

    /// The jobs of all classes that wait, the oldest first.
    pub fn all_jobs(&self) -> Vec<FakeJob<Value>> {
        let stored = self.store.all(|job| job.place == Place::Waiting);
        stored.into_iter().map(FakeJob::untyped).collect()
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.store.all(|job| job.place == Place::Waiting).len()
    }

    /// True when no job waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the jobs of class `J`, also those that failed, and frees their locks (TEST-03).
    pub fn clear<J: Job>(&self) {
        self.store.clear(Some(J::CLASS));
    }

    /// Forgets all jobs and locks.
    pub fn clear_all(&self) {
        self.store.clear(None);
    }

    /// Runs the job of class `J` that came due first, and removes it (TEST-06).
    ///
    /// # Errors
    /// [`FakeError::EmptyQueue`] when none is due. [`FakeError::JobFailed`] when it fails; it is then among
    /// the [`retries`](Self::retries) or the [`dead`](Self::dead), as the application has it.
    /// [`FakeError::DeathHookPanicked`] when it is dead, and a hook that was told of that panicked.
    pub fn perform_one<J: Job>(
        &self,
        app: &impl Application,
    ) -> impl Future<Output = Result<(), FakeError>> + Send {
        let (fake, performer) = (self.clone(), app.performer());
        async move {
            match fake.store.take_due(Some(J::CLASS)) {
                Some(job) => fake.perform(&performer, job).await,
                None => {
                    let later = fake.store.all(|job| job.place != Place::Dead && job.class == J::CLASS).len();
                    Err(FakeError::EmptyQueue { class: J::CLASS, later })
                }
            }
        }
    }

    /// Runs the jobs of class `J` that are due, with those that are pushed meanwhile, until there is none
    /// (TEST-07): in the order in which they came due, and those of one moment as they were pushed. How many it ran. Dropped on its way, it puts the job back that was running.
    ///
    /// # Errors
    /// [`FakeError::JobFailed`] at the first that fails, or [`FakeError::DeathHookPanicked`]; those after it
    /// still wait.
    pub fn drain<J: Job>(
        &self,
        app: &impl Application,
    ) -> impl Future<Output = Result<usize, FakeError>> + Send {
        self.clone().drain_class(Some(J::CLASS), app.performer())
    }

    /// Like [`drain`](Self::drain), for jobs of every class.
    ///
    /// # Errors
    /// As [`drain`](Self::drain).
    pub fn drain_all(&self, app: &impl Application) -> impl Future<Output = Result<usize, FakeError>> + Send {
        self.clone().drain_class(None, app.performer())
    }

    async fn drain_class(
        self,
        class: Option<&'static str>,
        performer: Performer,
    ) -> Result<usize, FakeError> {
        let mut performed = 0;
        while let Some(job) = self.store.take_due(class) {
            self.perform(&performer, job).await?;
            performed += 1;
        }
        Ok(performed)
    }

    /// Pushes the application's periodic jobs that have come due since the last call, or since the fake was
    /// made: one for each entry, for the newest of its times. An `until_executed` entry waits while
    /// its last job does. How many were pushed.
    ///
    /// # Errors
    /// When an entry cannot be used.
    pub fn tick(&self, app: &impl Application) -> impl Future<Output = Result<usize, FakeError>> + Send {
        let (fake, performer) = (self.clone(), app.performer());
        async move {
            let (from, now) = fake.store.tick();
            let mut pushed = 0;
            for fired in performer.fired_between(from, now)? {
                let waits_for_last = fired.job.field("periodic_until_executed").is_some();
                let entry = fired.job.field_as::<String>("periodic_pjid");
                if waits_for_last && entry.is_some_and(|pjid| fake.store.has_run_of(&pjid)) {
                    continue;
                }
                let jid = performer.client(fake.client()).push(fired.job).await?;
                pushed += usize::from(jid.is_some());
            }
            Ok(pushed)
        }
    }

    /// Runs a job that was taken off, and files it as a worker would when it fails.
    async fn perform(&self, performer: &Performer, job: Stored) -> Result<(), FakeError> {
        let held = Held::new(&self.store, job);
        let result = performer.perform(self.client(), held.raw()).await;
        let job = held.taken();
        let Err(performed) = result else {
            self.store.release(&job);
            return Ok(());
        };
        let (failure, now) = (performed.failure, self.now());
        let (class, jid) = (job.class.clone(), job.jid.clone());
        let raw = payload_edit::failed_payload(&job.raw, &failure, now).map_or(job.raw.clone(), Into::into);
        match performed.fate {
            Fate::Retry(delay) => self.store.retry(Stored { raw, ..job }, now.plus(delay), delay),
            Fate::Discarded => self.store.release(&job),
            Fate::Dead => {
                self.store.bury(Stored { raw: raw.clone(), ..job });
                let mut panics = performer.tell_of_death(&raw, &failure).await;
                if !panics.is_empty() {
                    let panic = panics.remove(0);
                    return Err(FakeError::DeathHookPanicked { class, jid, failure, panic });
                }
            }
        }
        Err(FakeError::JobFailed { class, jid, failure })
    }

    /// True when a job of the class with these args waits.
    pub(crate) fn holds(&self, class: &str, args_json: &str) -> bool {
        let is_it = |job: &FakeJob<Value>| job.class == class && job.args_json() == args_json;
        self.all_jobs().iter().any(is_it)
    }
}
