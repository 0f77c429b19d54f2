//! Lists of what could not be filed at once.

use std::time::Duration;

use bytes::Bytes;
use cogworker_core::formats::UnsettledRecord;
use cogworker_core::keys::Key;
use cogworker_core::locks::{JobLocks, JobTraces};
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Filing, ListEnd, RawBurial, Step};
use cogworker_core::time::EpochSeconds;
use tracing::{error, info, warn};

use super::buried::Buried;
use super::{PLACE, Recovery};
use crate::counted::{counted, jobs};

/// Entries of dead are looked at once more for so long: the clocks of those who bury differ.
const OVERLAP: Duration = Duration::from_secs(60);

impl Recovery {
    /// Outcomes that stopped processes handed over (UNS-01 to UNS-05).
    pub(super) async fn file_unsettled(&self) -> Result<(), RedisError> {
        let filed = self.file_all(self.line.keys().unsettled(), |record| self.unsettled(record)).await?;
        if filed > 0 {
            let outcomes = counted(filed, "outcome", "outcomes");
            info!("filed {outcomes} that stopped processes had handed over");
        }
        Ok(())
    }

    /// Jobs that were recovered too often and that dead did not take at once (MAXO-03).
    pub(super) async fn file_repeat_orphans(&self) -> Result<(), RedisError> {
        let filed = self.file_all(self.line.keys().repeat_orphans(), |job| self.repeat_orphan(job)).await?;
        if filed > 0 {
            let (filed, most) = (jobs(filed), counted(self.limits.max_orphanings, "time", "times"));
            error!("buried {filed}: recovered more than {most}");
        }
        Ok(())
    }

    /// Files what `source` holds, from its right end; what stays there does not hold up the rest.
    async fn file_all(&self, source: Key, filing: impl Fn(Bytes) -> Filing) -> Result<usize, RedisError> {
        let (mut filed, mut left) = (0, 0);
        loop {
            let list = source.clone();
            let peeked = self.line.call(PLACE, |redis| scripts::peek_list(redis, list, ListEnd::Right, left));
            let peeked = peeked.await?;
            if peeked.elements.is_empty() {
                return Ok(filed);
            }
            let filings: Vec<_> = peeked.elements.into_iter().map(&filing).collect();
            let dead: Vec<_> = filings.iter().map(|filing| self.death_of(filing)).collect();
            let list = source.clone();
            let done = self.line.call(PLACE, |redis| scripts::file_records(redis, list, filings)).await;
            let done = self.or_doubt(done, dead.iter().flatten().cloned())?;
            self.uncounted.note(done.count);
            for (step, entry) in done.steps.iter().zip(dead) {
                if let Some(buried) = entry.filter(|_| *step == Step::Applied) {
                    buried.tell(&self.deaths);
                }
            }
            filed += done.steps.iter().filter(|step| **step == Step::Applied).count();
            left += done.steps.iter().filter(|step| **step == Step::Failed).count();
            if let Some(failure) = done.error {
                warn!("left entries on {source}: failed to {failure}");
            }
            if !peeked.more {
                return Ok(filed);
            }
        }
    }

    /// The entry that goes into dead; a repeat orphan's is counted only now.
    fn death_of(&self, filing: &Filing) -> Option<Buried> {
        match filing {
            Filing::File { target, entry, counted, .. } if *target == self.line.keys().dead() => {
                let kind = if *counted { Buried::Orphan } else { Buried::Record };
                Some(kind(entry.clone()))
            }
            _ => None,
        }
    }

    fn unsettled(&self, element: Bytes) -> Filing {
        let keys = self.line.keys();
        let record = UnsettledRecord::parse(&element);
        let Some((record, target)) = record.and_then(|it| it.target(keys).map(|target| (it, target))) else {
            warn!("set an unsettled record aside that cannot be used");
            return Filing::Unusable { element };
        };
        let Ok(job) = RawJob::parse(record.payload.as_bytes()) else {
            warn!("set an unsettled record aside whose payload is no job");
            return Filing::Unusable { element };
        };
        // Its retry still holds the locks.
        let locks = if target == keys.dead() { JobLocks::of(&job, keys) } else { JobLocks::default() };
        let traces = JobTraces { locks, ..JobTraces::of(&job, keys) };
        let entry = Bytes::copy_from_slice(record.payload.as_bytes());
        Filing::File { element, target, score: record.score, entry, counted: false, traces }
    }

    fn repeat_orphan(&self, element: Bytes) -> Filing {
        let keys = self.line.keys();
        let now = EpochSeconds::now();
        let traces =
            RawJob::parse(&element).map(|job| JobTraces::with_status(&job, keys)).unwrap_or_default();
        let (target, entry) = (keys.dead(), self.burial(&element, now));
        Filing::File { element, target, score: now, entry, counted: true, traces }
    }

    /// Jobs that a process put into dead as they were, and did not come to complete (MAXO-10). Looks
    /// at what came into dead since `seen`, the start of the last look that came to its end.
    pub(super) async fn complete_burials(&self, seen: &mut Option<EpochSeconds>) -> Result<(), RedisError> {
        let begun = EpochSeconds::now();
        let oldest = seen.map(|seen| EpochSeconds::new(seen.as_f64() - OVERLAP.as_secs_f64()));
        let (mut skip, mut completed) = (0, 0);
        loop {
            let found = self.line.call(PLACE, |redis| scripts::find_raw_burials(redis, skip, oldest)).await?;
            // A completed entry keeps its place.
            skip += found.seen;
            let burials: Vec<_> = found.entries.into_iter().filter_map(|job| self.raw_burial(job)).collect();
            if !burials.is_empty() {
                completed += self.complete(burials).await?;
            }
            if !found.more {
                break;
            }
        }
        *seen = Some(begun);
        if completed > 0 {
            warn!("completed {} in dead", counted(completed, "entry", "entries"));
        }
        Ok(())
    }

    async fn complete(&self, burials: Vec<RawBurial>) -> Result<usize, RedisError> {
        let entries: Vec<Bytes> = burials.iter().map(|burial| burial.entry.clone()).collect();
        let call = self.line.call(PLACE, |redis| scripts::complete_burials(redis, burials));
        let buried = entries.iter().cloned().map(Buried::Orphan);
        let (steps, count) = self.or_doubt(call.await, buried)?;
        self.uncounted.note(count);
        let done = steps.into_iter().zip(entries).filter(|(step, _)| *step == Step::Applied);
        Ok(done.map(|(_, entry)| self.deaths.tell_of_orphan(entry)).count())
    }

    fn raw_burial(&self, job: Bytes) -> Option<RawBurial> {
        let view = RawJob::parse(&job).ok()?;
        let traces = JobTraces::with_status(&view, self.line.keys());
        traces.orphan_counter.as_ref()?;
        let entry = self.burial(&job, EpochSeconds::now());
        Some(RawBurial { job: job.clone(), entry, traces })
    }
}
