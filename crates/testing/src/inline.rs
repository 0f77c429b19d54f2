//! A client that runs each job where it is pushed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cogworker_client::{Client, ClientError, Sink, Taken};
use cogworker_core::jid::Jid;
use cogworker_core::keys::Key;
use cogworker_core::payload_edit;
use cogworker_core::scripts::Push;
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, Performer};

use crate::fake::Application;

/// Runs jobs at once instead of pushing them: in the caller's task, from the JSON that would be in Redis, through
/// the application's middleware to its handler. Delays are ignored. A job that fails makes the push fail
/// with [`ClientError::JobFailed`]; it is not retried, and hooks are not told.
///
/// Jobs that a job pushes run inside of it, if it pushes them by its context's client or by one of
/// this. Nothing about it is global: see [`Fake`](crate::Fake).
///
/// ```
/// use cogworker_core::job::Job;
/// use cogworker_server::{App, JobError};
/// use cogworker_testing::Inline;
/// # use serde::{Deserialize, Serialize};
///
/// # #[derive(Serialize, Deserialize)]
/// # struct Greeting(String);
/// # impl Job for Greeting { const CLASS: &'static str = "GreetingJob"; }
/// async fn greet(Greeting(name): Greeting) -> Result<(), JobError> {
///     if name.is_empty() { Err(JobError::new("NoName", "nobody to greet")) } else { Ok(()) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Inline::new(App::new(()).job(greet)).client();
/// client.perform_async(&Greeting("world".into())).await?;
/// let error = client.perform_async(&Greeting(String::new())).await.unwrap_err();
/// assert_eq!(error.to_string(), "run a job where it is pushed: NoName: nobody to greet");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Inline {
    runner: Arc<Runner>,
}

#[derive(Debug)]
struct Runner {
    performer: Performer,
    /// Those of the unique jobs that are running.
    locks: Mutex<HashMap<Key, Jid>>,
}

impl Inline {
    /// Runs jobs by the handlers of `app`.
    ///
    /// # Panics
    /// When two of them have the same class, with which no worker would start.
    #[track_caller]
    pub fn new<S: Send + Sync + 'static>(app: App<S>) -> Self {
        Self { runner: Arc::new(Runner { performer: Application::performer(&app), locks: Mutex::default() }) }
    }

    /// A client that runs what is pushed by it. Give it the middleware that the application's own has.
    pub fn client(&self) -> Client {
        Client::from_sink(self.runner.clone())
    }
}

/// A unique job's lock, for the time of its run.
struct Held<'a> {
    runner: &'a Runner,
    lock: Key,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.runner.locks.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.lock);
    }
}

impl Runner {
    /// Runs a job; false for the duplicate of one that is running.
    async fn run(self: &Arc<Self>, job: Push) -> Result<bool, ClientError> {
        let _held = match job.lock {
            None => None,
            Some((lock, _)) => {
                let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
                if locks.contains_key(&lock) {
                    return Ok(false);
                }
                locks.insert(lock.clone(), job.jid);
                Some(Held { runner: self, lock })
            }
        };
        let mut raw = Bytes::from(job.payload);
        if job.at.is_some() {
            // A poller would have put it on its queue.
            raw = payload_edit::stamp_enqueued_at(&raw, self.now()).map_or(raw, Into::into);
        }
        let client = Client::from_sink(self.clone());
        let result = self.performer.perform(client, &raw).await;
        result.map(|()| true).map_err(|performed| ClientError::JobFailed(performed.failure))
    }
}

impl Sink for Runner {
    fn take(self: Arc<Self>, jobs: Vec<Push>) -> Taken {
        Box::pin(async move {
            let mut taken = Vec::with_capacity(jobs.len());
            for job in jobs {
                taken.push(self.run(job).await?);
            }
            Ok(taken)
        })
    }

    fn owner_of(&self, lock: &str) -> Option<Jid> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner).get(lock).cloned()
    }

    fn now(&self) -> EpochSeconds {
        EpochSeconds::now()
    }
}
