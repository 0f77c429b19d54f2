//! Jobs on the in-progress lists of dead processes.

use std::collections::BTreeSet;

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::keys::{Key, KeySpace, escape_glob};
use cogworker_core::locks::JobTraces;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_LIMIT, ListEnd, Orphan, OrphanStep, PAGE_LIMIT, Recovered};
use cogworker_core::time::EpochSeconds;
use cogworker_core::{payload_edit, unparseable};
use tracing::{error, info, warn};

use super::buried::Buried;
use super::{PLACE, Recovery, told};
use crate::counted::{counted, jobs};

/// Where it is counted how often a job was recovered.
pub(super) fn counter_of(job: &RawJob<'_>, keys: &KeySpace) -> Option<Key> {
    JobTraces::of(job, keys).orphan_counter
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) requeued: usize,
    buried: usize,
    pub(super) blocked: usize,
    error: Option<RedisError>,
    unread: BTreeSet<String>,
}

impl Recovery {
    /// The processes that have, or may have, an in-progress list (ORPH-01, SCHED-17); `None` when
    /// nothing could be read.
    pub(super) async fn candidates(&self, scan: bool) -> Result<Option<BTreeSet<String>>, RedisError> {
        let registry = self.line.keys().inprogress_identities();
        let registered = self.line.call(PLACE, |redis| scripts::list_members(redis, registry)).await;
        let registered = told(registered, || "read the registry of in-progress lists".into())?;
        let scanned = match scan {
            true => told(self.scan_lists().await, || "look for in-progress lists".into())?,
            false => None,
        };
        if registered.is_none() && scanned.is_none() {
            return Ok(None);
        }
        Ok(Some(registered.into_iter().flatten().chain(scanned.into_iter().flatten()).collect()))
    }

    async fn scan_lists(&self) -> Result<Vec<String>, RedisError> {
        let head = self.line.keys().inprogress("");
        let pattern = format!("{}*", escape_glob(&head));
        let (mut identities, mut cursor) = (Vec::new(), 0);
        loop {
            let step = self.line.call(PLACE, |redis| scripts::scan_keys(redis, &pattern, cursor, PAGE_LIMIT));
            let step = step.await?;
            identities.extend(step.found.iter().filter_map(|key| key.strip_prefix(&head)).map(str::to_owned));
            match step.next {
                Some(next) => cursor = next,
                None => return Ok(identities),
            }
        }
    }

    /// Empties the list of `identity`, if that process is dead (ORPH-03 to ORPH-11).
    pub(super) async fn recover(&self, identity: &str) -> Result<(), RedisError> {
        let mut tally = Tally::default();
        let result = self.recover_all(identity, &mut tally).await;
        self.tell(identity, tally);
        result
    }

    /// The dead ones of `candidates`. Asked before anything of them is read: most of them live.
    pub(super) async fn dead_among(&self, candidates: BTreeSet<String>) -> Result<Vec<String>, RedisError> {
        let others: Vec<_> = candidates.into_iter().filter(|identity| **identity != *self.identity).collect();
        let mut dead = Vec::new();
        let mut rest = others.as_slice();
        // Without others too: it is what tells this connection that its server was demoted.
        loop {
            let (page, following) = rest.split_at(rest.len().min(BATCH_LIMIT));
            let threshold = self.limits.orphan_threshold;
            let found = self.line.call(PLACE, |redis| scripts::find_dead_processes(redis, threshold, page));
            dead.extend(found.await?);
            rest = following;
            if rest.is_empty() {
                return Ok(dead);
            }
        }
    }

    async fn recover_all(&self, identity: &str, tally: &mut Tally) -> Result<(), RedisError> {
        // Newest first, so that the oldest is taken next; what is blocked stays in front of the rest.
        loop {
            let (list, blocked) = (self.line.keys().inprogress(identity), tally.blocked);
            let peeked =
                self.line.call(PLACE, |redis| scripts::peek_list(redis, list, ListEnd::Left, blocked));
            let peeked = peeked.await?;
            let orphans = peeked.elements.into_iter().map(|job| self.orphan(job)).collect();
            let Some(too_often) = self.recover_some(identity, orphans, tally).await? else { return Ok(()) };
            if !too_often.is_empty() {
                let orphans = too_often.into_iter().map(|job| self.repeat_orphan_of(job)).collect();
                if self.recover_some(identity, orphans, tally).await?.is_none() {
                    return Ok(());
                }
            }
            if !peeked.more {
                return Ok(());
            }
        }
    }

    /// Those of `orphans` that are to be buried and have no entry for dead yet; `None` when their
    /// process lives.
    pub(super) async fn recover_some(
        &self,
        identity: &str,
        orphans: Vec<Orphan>,
        tally: &mut Tally,
    ) -> Result<Option<Vec<Bytes>>, RedisError> {
        let given: Vec<_> = orphans.iter().map(|it| (it.job.clone(), it.burial.clone())).collect();
        let limits = self.limits;
        let call = self.line.call(PLACE, |redis| scripts::recover_jobs(redis, identity, limits, orphans));
        let buried = given.iter().filter_map(|(_, burial)| burial.clone().map(Buried::Orphan));
        let (steps, unread, error, count) = match self.or_doubt(call.await, buried)? {
            Recovered::Alive => return Ok(None),
            Recovered::Dead { steps, unread, error, count, .. } => (steps, unread, error, count),
        };
        let mut too_often = Vec::new();
        for (step, (job, burial)) in steps.into_iter().zip(given) {
            match step {
                OrphanStep::Requeued => tally.requeued += 1,
                OrphanStep::Buried => {
                    tally.buried += 1;
                    burial.into_iter().for_each(|entry| self.deaths.tell_of_orphan(entry));
                }
                OrphanStep::Parked => tally.buried += 1,
                OrphanStep::Blocked => tally.blocked += 1,
                OrphanStep::TooOften => too_often.push(job),
                OrphanStep::Gone => {}
            }
        }
        self.uncounted.note(count);
        tally.unread.extend(unread);
        tally.error = tally.error.take().or(error);
        Ok(Some(too_often))
    }

    /// What has no queue, or is no job, goes to `default`, where it is dealt with (REQ-02).
    pub(super) fn orphan(&self, job: Bytes) -> Orphan {
        let (queue, traces) = match RawJob::parse(&job) {
            Ok(view) => (
                view.queue().unwrap_or("default").to_owned(),
                JobTraces::with_status(&view, self.line.keys()),
            ),
            Err(_) => ("default".to_owned(), JobTraces::default()),
        };
        Orphan { job, queue, traces, burial: None }
    }

    /// The same with an entry for dead.
    pub(super) fn repeat_orphan_of(&self, job: Bytes) -> Orphan {
        let burial = self.burial(&job, EpochSeconds::now());
        Orphan { burial: Some(burial), ..self.orphan(job) }
    }

    /// What stands in dead for a job that was recovered too often (DEAD-11).
    pub(super) fn burial(&self, job: &Bytes, now: EpochSeconds) -> Bytes {
        let entry =
            payload_edit::failed_payload(job, &Failure::process_died(self.limits.max_orphanings), now);
        entry.unwrap_or_else(|reason| unparseable::wrap(job, None, &reason, now)).into()
    }

    /// LOG-03, LOG-04.
    pub(super) fn tell(&self, identity: &str, tally: Tally) {
        let Tally { requeued, buried, blocked, error, unread } = tally;
        if requeued > 0 {
            let back = if requeued == 1 { "its queue" } else { "their queues" };
            warn!("put {} of the dead process {identity} back on {back}", jobs(requeued));
        }
        if buried > 0 {
            let most = self.limits.max_orphanings;
            let (buried, most) = (jobs(buried), counted(most, "time", "times"));
            error!("buried {buried} of the dead process {identity}: recovered more than {most}");
        }
        if blocked > 0 {
            let why = error.map(|error| format!(": failed to {error}")).unwrap_or_default();
            error!("{} of the dead process {identity} could not be put back{why}", jobs(blocked));
        }
        for queue in unread {
            warn!(queue, "no live process reads a queue that got recovered jobs");
        }
        if requeued + buried + blocked == 0 {
            tracing::debug!("nothing to recover from {identity}");
        } else {
            info!("recovery of {identity} is done");
        }
    }
}
