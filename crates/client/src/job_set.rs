//! The sorted sets: schedule, retry and dead.

use std::time::Duration;

use bytes::Bytes;
use cogworker_core::locks::{JobLocks, lock_seconds};
use cogworker_core::page::Page;
use cogworker_core::payload_edit;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::scripts::{self, EntrySource, Requeue, RequeueStep, Step};
use cogworker_core::time::EpochSeconds;

use crate::queue::clear_entries;

#[derive(Debug, Clone, Copy)]
pub(crate) enum SetKind {
    Schedule,
    Retry,
    Dead,
}

/// One of the sorted sets.
#[derive(Debug, Clone)]
pub struct JobSet {
    redis: Redis,
    kind: SetKind,
    unique_lock_ttl: Duration,
}

/// An entry: its exact bytes address it, not its score, which others may share (P-23).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The stored job.
    pub raw: Bytes,
    /// When it is due, or died.
    pub score: EpochSeconds,
}

/// What became of a request to run an entry now (CLAIM-01, CLAIM-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requeued {
    /// It is on its queue.
    Requeued,
    /// It was not there any more.
    Gone,
    /// It is no job, or names no queue: it stays where it is.
    Invalid,
    /// It is dead and unique, and an equal job has been pushed since: it stays where it is.
    Duplicate,
}

/// What became of a request to run all entries now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequeuedAll {
    /// How many came onto their queues.
    pub requeued: u64,
    /// How many stay where they are: no jobs, duplicates, or refused by their queues.
    pub left: u64,
    /// Why a queue refused one.
    pub error: Option<RedisError>,
}

/// What became of a request to move some entries into dead.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KilledAll {
    /// How many are in dead now.
    pub killed: u64,
    /// How many stay where they are, refused by dead.
    pub left: u64,
    /// Why dead refused the first of them.
    pub error: Option<RedisError>,
}

impl JobSet {
    pub(crate) fn new(redis: Redis, kind: SetKind, unique_lock_ttl: Duration) -> Self {
        Self { redis, kind, unique_lock_ttl }
    }

    pub(crate) fn redis(&self) -> &Redis {
        &self.redis
    }

    pub(crate) fn kind(&self) -> SetKind {
        self.kind
    }

    pub(crate) fn key(&self) -> String {
        let keys = self.redis.keys();
        match self.kind {
            SetKind::Schedule => keys.schedule(),
            SetKind::Retry => keys.retry(),
            SetKind::Dead => keys.dead(),
        }
    }

    /// How many entries there are.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn size(&self) -> Result<u64, RedisError> {
        Ok(self.redis.command("ZCARD", Call::new().key(self.key())).await?.int()?.max(0) as u64)
    }

    /// Entries `skip` to `skip + count` (at most 1,000): the next due first, in dead the newest
    /// first.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn page(&self, skip: u64, count: u64) -> Result<Page<Entry>, RedisError> {
        let newest_first = matches!(self.kind, SetKind::Dead);
        let page = scripts::page_set(&self.redis, self.key(), skip, count, newest_first).await?;
        let entries = page.entries.into_iter().map(|(raw, score)| Entry { raw, score }).collect();
        Ok(Page::new(page.total, entries))
    }

    /// Puts an entry on its queue now, once, however often it is asked for (CLAIM-04). A unique job whose
    /// lock is free takes it again.
    ///
    /// # Errors
    /// When Redis does not take it; the entry then stays where it is.
    pub async fn requeue(&self, raw: &Bytes) -> Result<Requeued, RedisError> {
        let Some(requeue) = self.to_requeue(raw, EpochSeconds::now()) else { return Ok(Requeued::Invalid) };
        let (steps, error) = self.requeue_entries(vec![requeue]).await?;
        match (steps.first(), error) {
            (Some(RequeueStep::Requeued), _) => Ok(Requeued::Requeued),
            (Some(RequeueStep::Duplicate), _) => Ok(Requeued::Duplicate),
            (Some(RequeueStep::Refused), Some(error)) => Err(error),
            _ => Ok(Requeued::Gone),
        }
    }

    /// Puts every entry that is there now on its queue, the next due and the longest dead first (P-22). In
    /// slices; what cannot be moved stays and holds up no other.
    ///
    /// # Errors
    /// When Redis cannot be reached; some entries may be on their queues then.
    pub async fn requeue_all(&self) -> Result<RequeuedAll, RedisError> {
        self.requeue_matching(|_| true).await
    }

    /// [`requeue_all`](Self::requeue_all), of those entries alone for which `wanted` says so. The others count
    /// neither as requeued nor as left.
    ///
    /// # Errors
    /// As [`requeue_all`](Self::requeue_all).
    pub async fn requeue_matching(
        &self,
        wanted: impl Fn(&Bytes) -> bool + Send + Sync,
    ) -> Result<RequeuedAll, RedisError> {
        let mut all = RequeuedAll { requeued: 0, left: 0, error: None };
        let (mut unwanted, mut unseen) = (0, None);
        loop {
            // Those that stay come first in what is left.
            let Page { total, mut entries, .. } =
                scripts::peek_entries(&self.redis, &self.source(), all.left + unwanted).await?;
            let remaining: u64 = unseen.unwrap_or(total);
            entries.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
            if entries.is_empty() {
                return Ok(all);
            }
            unseen = Some(remaining - entries.len() as u64);
            let seen = entries.len();
            entries.retain(&wanted);
            unwanted += (seen - entries.len()) as u64;
            let now = EpochSeconds::now();
            let moves: Vec<_> = entries.iter().filter_map(|raw| self.to_requeue(raw, now)).collect();
            all.left += (entries.len() - moves.len()) as u64;
            if moves.is_empty() {
                continue;
            }
            let (steps, error) = self.requeue_entries(moves).await?;
            let count = |wanted: &[RequeueStep]| steps.iter().filter(|step| wanted.contains(step)).count();
            all.requeued += count(&[RequeueStep::Requeued]) as u64;
            all.left += count(&[RequeueStep::Duplicate, RequeueStep::Refused]) as u64;
            all.error = all.error.or(error);
        }
    }

    pub(crate) fn to_requeue(&self, raw: &Bytes, now: EpochSeconds) -> Option<Requeue> {
        let job = RawJob::parse(raw).ok()?;
        let queue = job.queue()?.to_owned();
        let payload = payload_edit::stamp_enqueued_at(raw, now).ok()?;
        let (jid, locks) = (job.jid().to_owned(), JobLocks::of(&job, self.redis.keys()));
        Some(Requeue { entry: raw.clone(), payload, queue, jid, locks })
    }

    pub(crate) async fn requeue_entries(
        &self,
        entries: Vec<Requeue>,
    ) -> Result<(Vec<RequeueStep>, Option<RedisError>), RedisError> {
        let lock_ttl = lock_seconds(self.unique_lock_ttl, None, EpochSeconds::now());
        // A dead job gave its lock away, and an equal one may have it now. One in schedule or retry
        // would come onto its queue in any case.
        let keep_duplicates = matches!(self.kind, SetKind::Dead);
        scripts::requeue_entries(&self.redis, self.key(), entries, lock_ttl, keep_duplicates).await
    }

    /// Deletes an entry, frees its job's locks (P-34) and drops the log of its attempts; false when it was not there any more.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn delete(&self, raw: &Bytes) -> Result<bool, RedisError> {
        let deleted = scripts::delete_entries(&self.redis, &self.source(), std::slice::from_ref(raw)).await?;
        Ok(deleted == [true])
    }

    /// Moves an entry into dead as it is, where it stays until somebody retries or deletes it, and frees its job's locks.
    /// It was no attempt: nothing is counted, and no death hook runs. False when it was not there any more, or is in dead
    /// already.
    ///
    /// # Errors
    /// When Redis does not take it; the entry then stays where it is.
    pub async fn kill(&self, raw: &Bytes) -> Result<bool, RedisError> {
        match self.kill_entries(std::slice::from_ref(raw)).await? {
            (steps, None) => Ok(steps == [Step::Applied]),
            (_, Some(error)) => Err(error),
        }
    }

    pub(crate) async fn kill_entries(
        &self,
        entries: &[Bytes],
    ) -> Result<(Vec<Step>, Option<RedisError>), RedisError> {
        if matches!(self.kind, SetKind::Dead) {
            return Ok((vec![Step::Gone; entries.len()], None));
        }
        scripts::kill_entries(&self.redis, self.key(), entries, EpochSeconds::now()).await
    }

    /// Gives an entry another time (WEBJ-08); false when it was not there any more, or is dead and has no time to run.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn reschedule(&self, raw: &Bytes, at: impl Into<EpochSeconds>) -> Result<bool, RedisError> {
        Ok(self.reschedule_entries(std::slice::from_ref(raw), at.into()).await? == [true])
    }

    pub(crate) async fn reschedule_entries(
        &self,
        entries: &[Bytes],
        at: EpochSeconds,
    ) -> Result<Vec<bool>, RedisError> {
        if matches!(self.kind, SetKind::Dead) {
            return Ok(vec![false; entries.len()]);
        }
        scripts::reschedule_entries(&self.redis, self.key(), entries, at).await
    }

    /// Deletes every entry that is there now, and frees their jobs' locks; how many there were. In slices.
    ///
    /// # Errors
    /// When Redis does not take it; some entries may be deleted then.
    pub async fn clear(&self) -> Result<u64, RedisError> {
        clear_entries(&self.redis, &self.source()).await
    }

    pub(crate) fn source(&self) -> EntrySource {
        EntrySource::SortedSet(self.key())
    }
}
