//! Tells hooks of jobs that came into dead.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::raw_job::RawJob;
use cogworker_core::unparseable::UNPARSEABLE_CLASS;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

use crate::app::Hooks;
use crate::counted::counted;
use crate::hooks::{DeathHook, FailedJob};

/// How long hooks that are at work may hold up the end of the process.
const LAST_HOOKS: Duration = Duration::from_secs(5);

/// The death hooks of an application. They run on its own runtime, each by itself: none holds up
/// the engine, and one that panics does not keep the next from being called (DEATH-02).
#[derive(Clone)]
pub(crate) struct Deaths {
    exhausted: Arc<HashMap<&'static str, DeathHook>>,
    handlers: Arc<[DeathHook]>,
    jobs: Handle,
    running: TaskTracker,
}

impl Deaths {
    pub(crate) fn new(hooks: &Hooks, jobs: Handle) -> Self {
        Self {
            exhausted: Arc::new(hooks.exhausted.clone()),
            handlers: hooks.death.as_slice().into(),
            jobs,
            running: TaskTracker::new(),
        }
    }

    /// False when nobody wants to know.
    pub(crate) fn are_heard(&self) -> bool {
        !self.handlers.is_empty() || !self.exhausted.is_empty()
    }

    /// `entry` stands in dead now (DEATH-01, DEATH-08 to DEATH-10).
    pub(crate) fn tell(&self, entry: Bytes, failure: Failure) {
        let Ok(job) = RawJob::parse(&entry) else { return };
        if job.class() == UNPARSEABLE_CLASS {
            // What was no job has no death (DEATH-15).
            return;
        }
        let (jid, own) = (job.jid().to_owned(), self.exhausted.get(job.class()).cloned());
        if own.is_none() && self.handlers.is_empty() {
            return;
        }
        let handlers = self.handlers.clone();
        let told = async move {
            let own = own.iter().map(|hook| ("retries_exhausted", hook));
            for (kind, hook) in own.chain(handlers.iter().map(|hook| ("death_handler", hook))) {
                let (job, failure, hook) = (FailedJob::new(entry.clone()), failure.clone(), hook.clone());
                // A task of its own: neither the call nor the future can take the others along.
                let call = tokio::spawn(async move { hook(job, failure).await });
                if let Err(fault) = call.await {
                    error!(jid, "a {kind} hook panicked: {fault}");
                }
            }
        };
        self.running.spawn_on(told, &self.jobs);
    }

    /// A death that was filed from a record of an earlier run (DEATH-06). As in the gem, hooks learn by the
    /// class that this is not the failing process; the entry keeps the class that the job failed with.
    pub(crate) fn tell_of_record(&self, entry: Bytes) {
        let message = RawJob::parse(&entry).ok().and_then(|job| job.field_as::<String>("error_message"));
        self.tell(entry, Failure::new("Cogworker::JobFailedError", message.unwrap_or_default()));
    }

    /// A job that was recovered too often (DEATH-07); the entry's class is `Cogworker::ProcessDied`.
    pub(crate) fn tell_of_orphan(&self, entry: Bytes) {
        let message = RawJob::parse(&entry).ok().and_then(|job| job.field_as::<String>("error_message"));
        self.tell(entry, Failure::new("Cogworker::JobOrphanedError", message.unwrap_or_default()));
    }

    /// Waits for hooks that are at work, for a while.
    pub(crate) async fn finish(&self) {
        self.running.close();
        if tokio::time::timeout(LAST_HOOKS, self.running.wait()).await.is_err() {
            let hooks = counted(self.running.len(), "death hook is", "death hooks are");
            warn!("stopping though {hooks} still at work");
        }
    }
}
