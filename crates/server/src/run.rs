//! The run of a job, as handlers and middleware see it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_client::Client;
use cogworker_core::jid::Jid;
use cogworker_core::raw_job::RawJob;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::outage::Outage;

/// Progress is written at most so often; the last value is written in any case.
const PROGRESS_PERIOD: Duration = Duration::from_millis(250);

/// One run of a job: what a middleware is given. Cheap to clone.
#[derive(Clone)]
pub struct Run {
    shared: Arc<Shared>,
    /// Of one call of a handler that has a timeout: ends with it, or with the run's own.
    call: Option<CancellationToken>,
}

struct Shared {
    raw: Bytes,
    class: Bytes,
    args: Bytes,
    jid: OnceLock<Jid>,
    queue: Arc<str>,
    attempt: u32,
    scope: Arc<RunScope>,
    /// Made when either side first needs it.
    cancellation: OnceLock<CancellationToken>,
    /// It is on a thread that cannot be stopped.
    blocking: AtomicBool,
    progress: Mutex<Progress>,
}

/// What all runs of a process share.
pub(crate) struct RunScope {
    pub(crate) client: Client,
    pub(crate) status_ttl: Option<Duration>,
    /// The runtime of the jobs, if a worker runs them.
    pub(crate) jobs: Option<Handle>,
    /// What calls on behalf of jobs tell of a Redis that is away.
    pub(crate) outage: Arc<Outage>,
}

/// Fields that were stored and are not in Redis yet.
#[derive(Debug, Default)]
struct Progress {
    pending: Vec<(String, String)>,
    /// Every field's last value: a write may fail, or be given up, and the last is written in any case.
    latest: Vec<(String, String)>,
    written: Option<Instant>,
    /// Redis answered and would not have it; that was told.
    refused: bool,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("class", &self.class())
            .field("queue", &self.queue())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}

impl Run {
    pub(crate) fn new(raw: &Bytes, job: &RawJob<'_>, queue: &Arc<str>, scope: &Arc<RunScope>) -> Self {
        // Parts of the raw job are shared with it; what is written with escapes, or missing, is not.
        let part = |text: &str| match text.is_empty() || !raw.as_ptr_range().contains(&text.as_ptr()) {
            true => Bytes::copy_from_slice(text.as_bytes()),
            false => raw.slice_ref(text.as_bytes()),
        };
        Self {
            shared: Arc::new(Shared {
                class: part(job.class()),
                args: part(job.args_json()),
                raw: raw.clone(),
                jid: OnceLock::new(),
                queue: queue.clone(),
                attempt: job.retry_count().saturating_add(1),
                scope: scope.clone(),
                cancellation: OnceLock::new(),
                blocking: AtomicBool::new(false),
                progress: Mutex::default(),
            }),
            call: None,
        }
    }

    /// The job's id.
    pub fn jid(&self) -> &Jid {
        self.shared.jid.get_or_init(|| {
            Jid::from(RawJob::parse(&self.shared.raw).map(|job| job.jid().to_owned()).unwrap_or_default())
        })
    }

    /// The job's class.
    pub fn class(&self) -> &str {
        std::str::from_utf8(&self.shared.class).unwrap_or_default()
    }

    /// The queue it came from.
    pub fn queue(&self) -> &str {
        &self.shared.queue
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.shared.attempt
    }

    /// The job's args, as stored.
    pub fn args_json(&self) -> &str {
        std::str::from_utf8(&self.shared.args).unwrap_or("[]")
    }

    /// The job as stored in Redis, byte for byte.
    pub fn raw(&self) -> &Bytes {
        &self.shared.raw
    }

    /// A top-level field of the job, as stored: `retry`, or an option of your own.
    pub fn field(&self, key: &str) -> Option<String> {
        let job = RawJob::parse(&self.shared.raw).ok()?;
        job.field(key).map(|value| value.get().to_owned())
    }

    /// A client on the worker's own connection, to enqueue further jobs. Closing it does nothing:
    /// the connection is the worker's.
    pub fn client(&self) -> &Client {
        &self.shared.scope.client
    }

    /// Waits until the run should end soon; see [`Context::cancelled`](crate::Context::cancelled).
    pub async fn cancelled(&self) {
        self.token().cancelled().await;
    }

    /// The same as a token, to hand on to what a run starts.
    pub fn cancellation(&self) -> CancellationToken {
        self.token().child_token()
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        self.call.as_ref().unwrap_or_else(|| self.run_token())
    }

    fn run_token(&self) -> &CancellationToken {
        self.shared.cancellation.get_or_init(CancellationToken::new)
    }

    /// The same run for one call of its handler, which may [expire](Self::expire) by itself: a
    /// middleware that calls it again begins afresh.
    pub(crate) fn for_a_call(&self) -> Self {
        Self { shared: self.shared.clone(), call: Some(self.run_token().child_token()) }
    }

    /// Asks it to end so that it can be run again; for tests.
    #[doc(hidden)]
    pub fn interrupt(&self) {
        self.run_token().cancel();
    }

    /// Asks this call to end because it takes too long: running it again would not help.
    pub(crate) fn expire(&self) {
        self.token().cancel();
    }

    /// True when the run was asked to end so that it can be run again.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.run_token().is_cancelled()
    }

    /// Notes that it goes on on a thread that cannot be stopped.
    pub(crate) fn goes_blocking(&self) {
        self.shared.blocking.store(true, Ordering::Release);
    }

    /// True when stopping its task would not stop it.
    pub(crate) fn is_blocking(&self) -> bool {
        self.shared.blocking.load(Ordering::Acquire)
    }

    pub(crate) fn scope(&self) -> &RunScope {
        &self.shared.scope
    }

    /// Keeps fields for the next write; those to write now, if one is due.
    pub(crate) fn note_progress(&self, fields: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        let mut progress = self.progress();
        progress.keep(fields);
        progress.take_due(Instant::now())
    }

    /// Keeps fields for the next write.
    pub(crate) fn keep_progress(&self, fields: &[(&str, &str)]) {
        self.progress().keep(fields);
    }

    /// A write failed and may be made again: every field's last value waits for it.
    pub(crate) fn doubt_progress(&self) {
        let mut progress = self.progress();
        progress.pending = progress.latest.clone();
    }

    /// Notes whether Redis refused the last write, and tells what it was before.
    pub(crate) fn progress_refused(&self, refused: bool) -> bool {
        std::mem::replace(&mut self.progress().refused, refused)
    }

    /// Fields that have waited long enough.
    pub(crate) fn due_progress(&self, now: Instant) -> Option<Vec<(String, String)>> {
        self.progress().take_due(now)
    }

    /// Every field's last value: the run has ended.
    pub(crate) fn last_progress(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.progress().latest)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn keep(&mut self, fields: &[(&str, &str)]) {
        for (name, value) in fields {
            for kept in [&mut self.pending, &mut self.latest] {
                kept.retain(|(known, _)| known != name);
                kept.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
    }

    fn take_due(&mut self, now: Instant) -> Option<Vec<(String, String)>> {
        let due = self.written.is_none_or(|at| now.saturating_duration_since(at) >= PROGRESS_PERIOD);
        if self.pending.is_empty() || !due {
            return None;
        }
        self.written = Some(now);
        Some(std::mem::take(&mut self.pending))
    }
}
