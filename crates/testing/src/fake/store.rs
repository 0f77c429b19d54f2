//! What a fake has instead of Redis.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use cogworker_client::{Sink, Taken};
use cogworker_core::jid::Jid;
use cogworker_core::keys::Key;
use cogworker_core::payload_edit;
use cogworker_core::raw_job::RawJob;
use cogworker_core::scripts::Push;
use cogworker_core::time::EpochSeconds;

/// What a worker adds to the delay when it holds a retry's lock, by default (UNIQ-13).
const LOCK_TTL: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(super) struct Store {
    /// `None`: the host's clock.
    frozen_at: Option<EpochSeconds>,
    contents: Mutex<Contents>,
}

#[derive(Debug)]
struct Contents {
    advanced: Duration,
    ticked: EpochSeconds,
    /// In the order in which they came to their places.
    jobs: Vec<Stored>,
    /// Who holds them, and until when.
    locks: HashMap<Key, (Jid, EpochSeconds)>,
}

/// A stored job.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) place: Place,
    pub(super) raw: Bytes,
    pub(super) jid: Jid,
    pub(super) class: String,
    pub(super) queue: String,
    /// When it was pushed, or came to its place.
    pub(super) since: EpochSeconds,
    /// `None`: at once.
    pub(super) due: Option<EpochSeconds>,
    pub(super) lock: Option<Key>,
}

impl Stored {
    /// When it came onto its queue, if it is due, epoch s.
    fn queued_at(&self) -> f64 {
        let since = self.since.as_f64();
        self.due.map_or(since, |due| due.as_f64().max(since))
    }
}

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On its queue, or scheduled.
    Waiting,
    Retry,
    Dead,
}

impl Store {
    pub(super) fn new(frozen_at: Option<EpochSeconds>) -> Self {
        let contents = Contents {
            advanced: Duration::ZERO,
            ticked: frozen_at.unwrap_or_else(EpochSeconds::now),
            jobs: Vec::new(),
            locks: HashMap::new(),
        };
        Self { frozen_at, contents: Mutex::new(contents) }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn time(&self, contents: &Contents) -> EpochSeconds {
        self.frozen_at.unwrap_or_else(EpochSeconds::now).plus(contents.advanced)
    }

    pub(super) fn advance(&self, by: Duration) {
        let mut contents = self.lock();
        contents.advanced = contents.advanced.saturating_add(by);
    }

    /// The time of the last call, and of this one.
    pub(super) fn tick(&self) -> (EpochSeconds, EpochSeconds) {
        let mut contents = self.lock();
        let now = self.time(&contents);
        (std::mem::replace(&mut contents.ticked, now), now)
    }

    pub(super) fn all(&self, wanted: impl Fn(&Stored) -> bool) -> Vec<Stored> {
        self.lock().jobs.iter().filter(|job| wanted(job)).cloned().collect()
    }

    /// True while a run of a periodic entry waits.
    pub(super) fn has_run_of(&self, pjid: &str) -> bool {
        let is_run =
            |job: &Stored| RawJob::parse(&job.raw).is_ok_and(|raw| raw.periodic_pjid() == Some(pjid));
        self.lock().jobs.iter().any(|job| job.place != Place::Dead && is_run(job))
    }

    /// Takes the job that came due first off its place, as it comes to a worker.
    pub(super) fn take_due(&self, class: Option<&str>) -> Option<Stored> {
        let mut contents = self.lock();
        let now = self.time(&contents);
        let is_due = |job: &Stored| {
            job.place != Place::Dead
                && class.is_none_or(|class| job.class == class)
                && job.due.is_none_or(|due| due <= now)
        };
        // The first of those that came onto their queues at one moment.
        let due = contents.jobs.iter().enumerate().filter(|(_, job)| is_due(job));
        let (at, _) = due.min_by(|(_, one), (_, other)| one.queued_at().total_cmp(&other.queued_at()))?;
        let mut job = contents.jobs.remove(at);
        if job.due.is_some() {
            // A poller would have put it on its queue.
            job.raw = payload_edit::stamp_enqueued_at(&job.raw, now).map_or(job.raw, Into::into);
        }
        Some(job)
    }

    /// The next to be taken.
    pub(super) fn put_back(&self, job: Stored) {
        self.lock().jobs.insert(0, job);
    }

    pub(super) fn retry(&self, job: Stored, due: EpochSeconds, delay: Duration) {
        let mut contents = self.lock();
        let until = self.time(&contents).plus(delay).plus(LOCK_TTL);
        if let Some(held) = job.lock.as_ref().and_then(|lock| contents.locks.get_mut(lock))
            && held.0 == job.jid
        {
            held.1 = until;
        }
        let since = self.time(&contents);
        contents.jobs.push(Stored { place: Place::Retry, since, due: Some(due), ..job });
    }

    pub(super) fn bury(&self, job: Stored) {
        self.release(&job);
        self.lock().jobs.push(Stored { place: Place::Dead, due: None, ..job });
    }

    /// Frees a job's lock, unless another job has it by now (UNIQ-17).
    pub(super) fn release(&self, job: &Stored) {
        self.lock().release(job);
    }

    pub(super) fn clear(&self, class: Option<&str>) {
        let mut contents = self.lock();
        let Some(class) = class else {
            contents.jobs.clear();
            contents.locks.clear();
            return;
        };
        let (cleared, left) =
            std::mem::take(&mut contents.jobs).into_iter().partition(|job| job.class == class);
        contents.jobs = left;
        let cleared: Vec<Stored> = cleared;
        cleared.iter().for_each(|job| contents.release(job));
    }

    fn add(&self, contents: &mut Contents, push: Push) -> bool {
        let now = self.time(contents);
        let lock = push.lock.map(|(key, seconds)| (key, now.plus(Duration::from_secs(seconds))));
        if let Some((key, until)) = &lock {
            if contents.locks.get(key).is_some_and(|(_, until)| *until > now) {
                return false;
            }
            contents.locks.insert(key.clone(), (push.jid.clone(), *until));
        }
        contents.jobs.push(Stored {
            place: Place::Waiting,
            raw: push.payload.into(),
            jid: push.jid,
            class: push.class,
            queue: push.queue,
            since: now,
            due: push.at,
            lock: lock.map(|(key, _)| key),
        });
        true
    }
}

impl Contents {
    fn release(&mut self, job: &Stored) {
        if let Some(lock) = &job.lock
            && self.locks.get(lock).is_some_and(|(owner, _)| *owner == job.jid)
        {
            self.locks.remove(lock);
        }
    }
}

impl Sink for Store {
    fn take(self: Arc<Self>, jobs: Vec<Push>) -> Taken {
        Box::pin(async move {
            let mut contents = self.lock();
            Ok(jobs.into_iter().map(|job| self.add(&mut contents, job)).collect())
        })
    }

    fn owner_of(&self, lock: &str) -> Option<Jid> {
        let contents = self.lock();
        let now = self.time(&contents);
        contents.locks.get(lock).filter(|(_, until)| *until > now).map(|(owner, _)| owner.clone())
    }

    fn now(&self) -> EpochSeconds {
        self.time(&self.lock())
    }
}
