//! Lists of what could not be filed at once.

use bytes::Bytes;
use cogworker_core::formats::UnsettledRecord;
use cogworker_core::keys::Key;
use cogworker_core::locks::JobLocks;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_LIMIT, Filing, RawBurial, Step};
use cogworker_core::time::EpochSeconds;
use cogworker_core::{payload_edit, unparseable};
use tracing::{error, info, warn};

use super::Recovery;

impl Recovery {
    /// Outcomes that stopped processes handed over (UNS-01 to UNS-05).
    pub(super) async fn file_unsettled(&self) -> Result<(), RedisError> {
        let filed = self.file_all(self.redis.keys().unsettled(), |record| self.unsettled(record)).await?;
        if filed > 0 {
            info!("filed {filed} outcomes that stopped processes had handed over");
        }
        Ok(())
    }

    /// Jobs that were recovered too often and that dead did not take at once (MAXO-03).
    pub(super) async fn file_repeat_orphans(&self) -> Result<(), RedisError> {
        let filed = self.file_all(self.redis.keys().repeat_orphans(), |job| self.repeat_orphan(job)).await?;
        if filed > 0 {
            error!("buried {filed} jobs that were recovered more than {} times", self.limits.max_orphanings);
        }
        Ok(())
    }

    /// Files what `source` holds, from its right end; what stays there does not hold up the rest.
    async fn file_all(&self, source: Key, filing: impl Fn(Bytes) -> Filing) -> Result<usize, RedisError> {
        let (mut filed, mut left) = (0, 0);
        loop {
            let page = scripts::page_list(&self.redis, source.clone(), left, BATCH_LIMIT).await?;
            if page.entries.is_empty() {
                return Ok(filed);
            }
            let full = page.entries.len() == BATCH_LIMIT;
            let filings: Vec<_> = page.entries.into_iter().map(&filing).collect();
            let dead: Vec<_> = filings.iter().map(|filing| self.death_of(filing)).collect();
            let done = scripts::file_records(&self.redis, source.clone(), filings).await?;
            for (step, entry) in done.steps.iter().zip(dead) {
                match entry.filter(|_| *step == Step::Applied) {
                    Some((entry, true)) => self.deaths.tell_of_orphan(entry),
                    Some((entry, false)) => self.deaths.tell_of_record(entry),
                    None => {}
                }
            }
            filed += done.steps.iter().filter(|step| **step == Step::Applied).count();
            left += done.steps.iter().filter(|step| **step == Step::Failed).count();
            if let Some(failure) = done.error {
                warn!("left entries on {source}: failed to {failure}");
            }
            if !full {
                return Ok(filed);
            }
        }
    }

    /// The entry that goes into dead, and whether it is a repeat orphan's, which is counted only now.
    fn death_of(&self, filing: &Filing) -> Option<(Bytes, bool)> {
        match filing {
            Filing::File { target, entry, counted, .. } if *target == self.redis.keys().dead() => {
                Some((entry.clone(), *counted))
            }
            _ => None,
        }
    }

    fn unsettled(&self, element: Bytes) -> Filing {
        let keys = self.redis.keys();
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
        let counter = (!job.jid().is_empty()).then(|| keys.orphanings(job.jid()));
        let entry = Bytes::copy_from_slice(record.payload.as_bytes());
        Filing::File { element, target, score: record.score, entry, counted: false, counter, locks }
    }

    fn repeat_orphan(&self, element: Bytes) -> Filing {
        let keys = self.redis.keys();
        let now = EpochSeconds::now();
        let (entry, counter, locks) = match RawJob::parse(&element) {
            Ok(job) => {
                let entry = payload_edit::failed_payload(&element, &self.process_died(), now);
                let counter = (!job.jid().is_empty()).then(|| keys.orphanings(job.jid()));
                (entry.unwrap_or_else(|reason| unparseable::wrap(&element, None, &reason, now)), counter, {
                    JobLocks::of(&job, keys)
                })
            }
            Err(reason) => (unparseable::wrap(&element, None, &reason, now), None, JobLocks::default()),
        };
        let (target, entry) = (keys.dead(), entry.into());
        Filing::File { element, target, score: now, entry, counted: true, counter, locks }
    }

    /// Jobs that a process put into dead as they were, and did not come to complete (MAXO-10).
    pub(super) async fn complete_burials(&self) -> Result<(), RedisError> {
        let keys = self.redis.keys();
        let newest = scripts::page_set(&self.redis, keys.dead(), 0, BATCH_LIMIT, true).await?;
        let burials = newest.entries.into_iter().filter_map(|(job, _)| {
            let view = RawJob::parse(&job).ok()?;
            if view.jid().is_empty() || view.field("error_class").is_some() {
                return None;
            }
            let entry = payload_edit::failed_payload(&job, &self.process_died(), EpochSeconds::now()).ok()?;
            let (counter, locks) = (keys.orphanings(view.jid()), JobLocks::of(&view, keys));
            Some(RawBurial { job: job.clone(), entry, counter, locks })
        });
        let burials: Vec<_> = burials.collect();
        if burials.is_empty() {
            return Ok(());
        }
        let entries: Vec<Bytes> = burials.iter().map(|burial| burial.entry.clone().into()).collect();
        let steps = scripts::complete_burials(&self.redis, burials).await?;
        let completed = steps.into_iter().zip(entries).filter(|(step, _)| *step == Step::Applied);
        let mut count = 0;
        for (_, entry) in completed {
            count += 1;
            self.deaths.tell_of_orphan(entry);
        }
        if count > 0 {
            warn!("completed {count} entries in dead");
        }
        Ok(())
    }
}
