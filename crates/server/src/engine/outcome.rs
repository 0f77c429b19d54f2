//! What a run comes to, ready to be settled.

use std::time::Duration;

use cogworker_core::failure::Failure;
use cogworker_core::formats::{AttemptOutcome, AttemptRecord, UnsettledRecord};
use cogworker_core::keys::{Key, KeySpace};
use cogworker_core::locks::JobLocks;
use cogworker_core::raw_job::{NotAJob, RawJob};
use cogworker_core::scripts::{SettleBatch, Traces};
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
    Done { orphan_counter: Key, locks: JobLocks },
    /// It failed: into retry or dead.
    Filed(Box<Filed>),
    /// It failed and could not be filed before the end: another process files it.
    HandedOver { unsettled: Key, record: Vec<u8>, traces: Traces },
    /// It was not run to its end: back on its queue.
    GivenBack { queue: Key, locks: JobLocks, lock_ttl: u64 },
}

#[derive(Debug)]
pub(crate) struct Filed {
    set: Key,
    score: EpochSeconds,
    entry: Vec<u8>,
    traces: Traces,
    /// How long its locks are held from now, s; 0 releases them.
    lock_ttl: u64,
    retried: bool,
}

/// What outcomes are decided with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) keys: &'a KeySpace,
    /// How long a lock is held while its job is queued, s.
    pub(crate) lock_ttl: u64,
}

impl Outcome {
    fn new(claim: Claim, fate: Fate) -> Self {
        Self { claim, fate, tried: false }
    }

    pub(crate) fn done(claim: Claim, job: &RawJob<'_>, rules: Rules<'_>) -> Self {
        let orphan_counter = rules.keys.orphanings(job.jid());
        let locks = JobLocks::of(job, rules.keys);
        Self::new(claim, Fate::Done { orphan_counter, locks })
    }

    /// Decides between retry and dead (OPT-08, RETRY-01 to RETRY-06, DEAD-01 to DEAD-03).
    pub(crate) fn failed(claim: Claim, failure: &Failure, rules: Rules<'_>) -> Self {
        let now = EpochSeconds::now();
        let job = match RawJob::parse(&claim.raw) {
            Ok(job) => job,
            Err(reason) => return Self::unparseable(claim, &reason, rules),
        };
        let entry = match payload_edit::failed_payload(&claim.raw, failure, now) {
            Ok(entry) => entry,
            Err(reason) => return Self::unparseable(claim, &reason, rules),
        };
        let attempt_number = job.retry_count().saturating_add(1);
        let retried = !job.is_final_failure();
        let delay = if retried { retry::backoff(attempt_number) } else { Duration::ZERO };
        let (set, outcome, lock_ttl) = if retried {
            let lock_ttl = delay.as_secs().saturating_add(rules.lock_ttl);
            (rules.keys.retry(), AttemptOutcome::Retrying, lock_ttl)
        } else {
            (rules.keys.dead(), AttemptOutcome::Dead, 0)
        };
        let jid = job.jid();
        let mut traces = Traces { locks: JobLocks::of(&job, rules.keys), ..Traces::default() };
        if !jid.is_empty() {
            let record = AttemptRecord::new(attempt_number, now, outcome, failure);
            traces.attempt = Some((rules.keys.job_attempts(jid), record.to_json()));
            traces.orphan_counter = Some(rules.keys.orphanings(jid));
        }
        let score = now.plus(delay);
        let filed = Filed { set, score, entry, traces, lock_ttl, retried };
        Self::new(claim, Fate::Filed(Box::new(filed)))
    }

    /// Something on a queue that is no job: wrapped and buried (DEAD-06, DEAD-10).
    pub(crate) fn unparseable(claim: Claim, reason: &NotAJob, rules: Rules<'_>) -> Self {
        let now = EpochSeconds::now();
        let filed = Filed {
            set: rules.keys.dead(),
            score: now,
            entry: unparseable::wrap(&claim.raw, Some(&claim.queue), reason, now),
            traces: Traces::default(),
            lock_ttl: 0,
            retried: false,
        };
        Self::new(claim, Fate::Filed(Box::new(filed)))
    }

    /// Back on its own queue, next to be taken; what names no queue goes to `default` (REQ-02).
    pub(crate) fn given_back(claim: Claim, rules: Rules<'_>) -> Self {
        let job = RawJob::parse(&claim.raw).ok();
        let queue = job.as_ref().and_then(|job| job.queue()).unwrap_or("default");
        let queue = rules.keys.queue(queue);
        let locks = job.map(|job| JobLocks::of(&job, rules.keys)).unwrap_or_default();
        Self::new(claim, Fate::GivenBack { queue, locks, lock_ttl: rules.lock_ttl })
    }

    /// A failure that its set does not take becomes a record for another process to file (UNS-01).
    pub(crate) fn hand_over(&mut self, keys: &KeySpace) {
        if let Fate::Filed(filed) = &mut self.fate {
            let record = UnsettledRecord::new(std::mem::take(&mut filed.set), filed.score, &filed.entry);
            let traces = std::mem::take(&mut filed.traces);
            self.fate = Fate::HandedOver { unsettled: keys.unsettled(), record: record.to_json(), traces };
        }
    }

    /// True when it puts a new entry into retry, which may be due before the others.
    pub(crate) fn is_retried(&self) -> bool {
        matches!(&self.fate, Fate::Filed(filed) if filed.retried)
    }

    /// True when the job goes back to its queue.
    pub(crate) fn is_given_back(&self) -> bool {
        matches!(self.fate, Fate::GivenBack { .. })
    }

    /// Adds it to a batch.
    pub(crate) fn add_to(&self, batch: &mut SettleBatch) {
        let raw = self.claim.raw.clone();
        match &self.fate {
            Fate::Done { orphan_counter, locks } => batch.acknowledge(raw, orphan_counter.clone(), locks),
            Fate::Filed(filed) => {
                let Filed { set, score, entry, traces, lock_ttl, .. } = &**filed;
                batch.file(raw, set.clone(), *score, entry.clone(), traces.clone(), *lock_ttl);
            }
            Fate::HandedOver { unsettled, record, traces } => {
                batch.hand_over(raw, unsettled.clone(), record.clone(), traces.clone());
            }
            Fate::GivenBack { queue, locks, lock_ttl } => {
                batch.give_back(raw, queue.clone(), locks, *lock_ttl);
            }
        }
    }

    /// How log lines name the job.
    pub(crate) fn jid(&self) -> String {
        RawJob::parse(&self.claim.raw).map(|job| job.jid().to_owned()).unwrap_or_default()
    }
}
