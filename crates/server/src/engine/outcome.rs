//! What a run comes to, ready to be settled.

use cogworker_core::failure::Failure;
use cogworker_core::formats::{AttemptOutcome, AttemptRecord};
use cogworker_core::keys::KeySpace;
use cogworker_core::raw_job::{NotAJob, RawJob};
use cogworker_core::scripts::{RunningLock, SettleBatch};
use cogworker_core::time::EpochSeconds;
use cogworker_core::{payload_edit, retry, unparseable};

use super::claim::Claim;

/// A claim and what is to become of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) claim: Claim,
    pub(crate) fate: Fate,
    /// True once a settlement of it was sent whose reply got lost: finding nothing on the list
    /// then means that it was applied.
    pub(crate) tried: bool,
}

#[derive(Debug)]
pub(crate) enum Fate {
    /// It ran well.
    Done { orphan_counter: String },
    /// It failed: into retry or dead.
    Filed {
        set: String,
        score: EpochSeconds,
        entry: Vec<u8>,
        attempt: Option<(String, String)>,
        orphan_counter: Option<String>,
        retried: bool,
    },
    /// It was not run to its end: back on its queue.
    GivenBack { queue: String, lock: Option<RunningLock> },
}

impl Outcome {
    pub(crate) fn done(claim: Claim, jid: &str, keys: &KeySpace) -> Self {
        Self { claim, fate: Fate::Done { orphan_counter: keys.orphanings(jid) }, tried: false }
    }

    /// Decides between retry and dead (OPT-08, RETRY-01 to RETRY-06, DEAD-01 to DEAD-03).
    pub(crate) fn failed(claim: Claim, failure: &Failure, keys: &KeySpace) -> Self {
        let now = EpochSeconds::now();
        let job = match RawJob::parse(&claim.raw) {
            Ok(job) => job,
            Err(reason) => return Self::unparseable(claim, &reason, keys),
        };
        let entry = match payload_edit::failed_payload(&claim.raw, failure, now) {
            Ok(entry) => entry,
            Err(reason) => return Self::unparseable(claim, &reason, keys),
        };
        let attempt_number = job.retry_count().saturating_add(1);
        let retried = !job.is_final_failure();
        let (set, score, outcome) = if retried {
            let due = now.plus(retry::backoff(attempt_number));
            (keys.retry(), due, AttemptOutcome::Retrying)
        } else {
            (keys.dead(), now, AttemptOutcome::Dead)
        };
        let jid = job.jid();
        let attempt = (!jid.is_empty()).then(|| {
            let record = AttemptRecord::new(attempt_number, now, outcome, failure);
            (keys.job_attempts(jid), record.to_json())
        });
        let orphan_counter = (!jid.is_empty()).then(|| keys.orphanings(jid));
        let fate = Fate::Filed { set, score, entry, attempt, orphan_counter, retried };
        Self { claim, fate, tried: false }
    }

    /// Something on a queue that is no job: wrapped and buried (DEAD-06, DEAD-10).
    pub(crate) fn unparseable(claim: Claim, reason: &NotAJob, keys: &KeySpace) -> Self {
        let now = EpochSeconds::now();
        let entry = unparseable::wrap(&claim.raw, Some(&claim.queue), reason, now);
        let fate = Fate::Filed {
            set: keys.dead(),
            score: now,
            entry,
            attempt: None,
            orphan_counter: None,
            retried: false,
        };
        Self { claim, fate, tried: false }
    }

    /// Back on its own queue, next to be taken; what names no queue goes to `default` (REQ-02).
    pub(crate) fn given_back(claim: Claim, keys: &KeySpace, lock_ttl: u64) -> Self {
        let job = RawJob::parse(&claim.raw).ok();
        let queue = job.as_ref().and_then(|job| job.queue()).unwrap_or("default");
        let lock = job.as_ref().filter(|job| job.periodic_until_executed()).and_then(|job| {
            let key = keys.periodic_running(job.periodic_pjid()?);
            Some(RunningLock { key, jid: job.jid().to_owned(), ttl: lock_ttl })
        });
        let fate = Fate::GivenBack { queue: keys.queue(queue), lock };
        Self { claim, fate, tried: false }
    }

    /// True for an acknowledgement, which a batch reports apart from the others.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.fate, Fate::Done { .. })
    }

    /// Adds it to a batch.
    pub(crate) fn add_to(&self, batch: &mut SettleBatch) {
        let raw = self.claim.raw.clone();
        match &self.fate {
            Fate::Done { orphan_counter } => batch.acknowledge(raw, orphan_counter.clone()),
            Fate::Filed { set, score, entry, attempt, orphan_counter, .. } => {
                batch.file(raw, set.clone(), *score, entry.clone(), attempt.clone(), orphan_counter.clone());
            }
            Fate::GivenBack { queue, lock } => batch.give_back(raw, queue.clone(), lock.clone()),
        }
    }

    /// How log lines name the job.
    pub(crate) fn jid(&self) -> String {
        RawJob::parse(&self.claim.raw).map(|job| job.jid().to_owned()).unwrap_or_default()
    }
}
