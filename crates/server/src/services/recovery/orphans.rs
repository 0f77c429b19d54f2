//! Jobs on the in-progress lists of dead processes.

use std::collections::BTreeSet;

use bytes::Bytes;
use cogworker_core::keys::escape_glob;
use cogworker_core::locks::JobLocks;
use cogworker_core::payload_edit;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Orphan, OrphanStep, PAGE_LIMIT, Recovered};
use cogworker_core::time::EpochSeconds;
use tracing::{error, info, warn};

use super::{Recovery, told};

#[derive(Debug, Default)]
struct Tally {
    requeued: usize,
    buried: usize,
    blocked: usize,
    error: Option<RedisError>,
    unread: BTreeSet<String>,
}

impl Recovery {
    /// The processes that have, or may have, an in-progress list (ORPH-01, SCHED-17); `None` when
    /// nothing could be read.
    pub(super) async fn candidates(&self, scan: bool) -> Result<Option<BTreeSet<String>>, RedisError> {
        let registry = self.redis.keys().inprogress_identities();
        let registered = scripts::list_members(&self.redis, registry).await;
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
        let head = self.redis.keys().inprogress("");
        let pattern = format!("{}*", escape_glob(&head));
        let (mut identities, mut cursor) = (Vec::new(), 0);
        loop {
            let step = scripts::scan_keys(&self.redis, &pattern, cursor, PAGE_LIMIT).await?;
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

    async fn recover_all(&self, identity: &str, tally: &mut Tally) -> Result<(), RedisError> {
        // Newest first, so that the oldest is taken next; what is blocked stays in front of the rest.
        loop {
            let jobs = scripts::newest_inprogress(&self.redis, identity, tally.blocked).await?;
            let count = jobs.len();
            let orphans: Vec<_> = jobs.into_iter().map(|job| self.orphan(job)).collect();
            let burials: Vec<Bytes> = orphans.iter().map(|orphan| orphan.burial.clone().into()).collect();
            match scripts::recover_jobs(&self.redis, identity, self.limits, orphans).await? {
                Recovered::Alive => return Ok(()),
                Recovered::Dead { steps, unread, error, .. } => {
                    let of = |step| steps.iter().filter(|it| **it == step).count();
                    for (step, entry) in steps.iter().zip(burials) {
                        if *step == OrphanStep::Buried {
                            self.deaths.tell_of_orphan(entry);
                        }
                    }
                    tally.requeued += of(OrphanStep::Requeued);
                    tally.buried += of(OrphanStep::Buried) + of(OrphanStep::Parked);
                    tally.blocked += of(OrphanStep::Blocked);
                    tally.unread.extend(unread);
                    tally.error = tally.error.take().or(error);
                }
            }
            if count < scripts::BATCH_LIMIT {
                return Ok(());
            }
        }
    }

    /// What has no queue, or is no job, goes to `default`, where it is dealt with (REQ-02).
    fn orphan(&self, job: Bytes) -> Orphan {
        let keys = self.redis.keys();
        let Ok(view) = RawJob::parse(&job) else {
            let (queue, locks) = ("default".to_owned(), JobLocks::default());
            return Orphan { job, queue, counter: None, locks, burial: Vec::new() };
        };
        let burial = payload_edit::failed_payload(&job, &self.process_died(), EpochSeconds::now());
        Orphan {
            queue: view.queue().unwrap_or("default").to_owned(),
            counter: (!view.jid().is_empty()).then(|| keys.orphanings(view.jid())),
            locks: JobLocks::of(&view, keys),
            burial: burial.unwrap_or_default(),
            job: job.clone(),
        }
    }

    /// LOG-03, LOG-04.
    fn tell(&self, identity: &str, tally: Tally) {
        let Tally { requeued, buried, blocked, error, unread } = tally;
        if requeued > 0 {
            warn!("put {requeued} jobs of the dead process {identity} back on their queues");
        }
        if buried > 0 {
            let most = self.limits.max_orphanings;
            error!("buried {buried} jobs of the dead process {identity}: recovered more than {most} times");
        }
        if blocked > 0 {
            let why = error.map(|error| format!(": failed to {error}")).unwrap_or_default();
            error!("{blocked} jobs of the dead process {identity} could not be put back{why}");
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
