//! What a run comes to, ready to be settled.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use cogworker_core::failure::Failure;
use cogworker_core::formats::{AttemptOutcome, AttemptRecord, RunRecord, UnsettledRecord};
use cogworker_core::keys::{Key, KeySpace};
use cogworker_core::locks::{JobLocks, JobTraces};
use cogworker_core::raw_job::{NotAJobError, RawJob};
use cogworker_core::scripts::{Effect, SettleBatch, Traces};
use cogworker_core::time::{EpochSeconds, ttl_seconds};
use cogworker_core::{payload_edit, retry, unparseable};

use super::claim::Claim;
use super::runner::Failed;
use crate::hooks::RetryIn;
use crate::run::Run;

/// A claim and what is to become of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) claim: Claim,
    pub(crate) fate: Fate,
    /// What is written beside it.
    effects: Vec<Effect>,
}

#[derive(Debug)]
pub(crate) enum Fate {
    /// It ran well.
    Done { traces: JobTraces },
    /// It failed: into retry or dead.
    Filed(Box<Filed>),
    /// It failed and could not be filed before the end: another process files it.
    HandedOver { unsettled: Key, record: Vec<u8>, traces: Traces, lock_ttl: u64 },
    /// It failed and is given up.
    Discarded { traces: Traces },
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
    /// What hooks are told when it stands in dead.
    death: Option<Failure>,
}

/// What outcomes are decided with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) keys: &'a KeySpace,
    /// How long a lock is held while its job is queued, s.
    pub(crate) lock_ttl: u64,
    /// How long a job's status is kept, s, if there is one.
    pub(crate) status_ttl: Option<u64>,
    /// True when runs are recorded.
    pub(crate) history: bool,
    /// True when someone wants to hear of deaths.
    pub(crate) deaths: bool,
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct EndedRun<'a> {
    pub(crate) run: &'a Run,
    pub(crate) job: &'a RawJob<'a>,
    pub(crate) started_at: EpochSeconds,
}

impl Outcome {
    fn new(claim: Claim, fate: Fate) -> Self {
        Self { claim, fate, effects: Vec::new() }
    }

    pub(crate) fn done(claim: Claim, ended: &EndedRun<'_>, rules: Rules<'_>) -> Self {
        let traces = JobTraces::of(ended.job, rules.keys);
        let effects = ended.effects("complete", None, rules);
        Self { effects, ..Self::new(claim, Fate::Done { traces }) }
    }

    /// Decides between retry and dead (OPT-08, RETRY-01 to RETRY-06, DEAD-01 to DEAD-03), unless a
    /// hook did (HOOK-01 to HOOK-06).
    pub(crate) fn failed(claim: Claim, ended: &EndedRun<'_>, failed: &Failed, rules: Rules<'_>) -> Self {
        let now = EpochSeconds::now();
        let (job, failure) = (ended.job, &failed.failure);
        let entry = match payload_edit::failed_payload(&claim.raw, failure, now) {
            // Without a queue of its own it could never come back from retry.
            Ok(entry) if job.queue().is_none() => {
                let queue = payload_edit::json_string(&claim.queue);
                payload_edit::set_fields(&entry, &[("queue", &queue)]).unwrap_or(entry)
            }
            Ok(entry) => entry,
            Err(reason) => return Self::unparseable(claim, &reason, rules),
        };
        let attempt_number = job.retry_count().saturating_add(1);
        let delay = match failed.retry_in {
            _ if job.is_final_failure() => None,
            RetryIn::Default => Some(retry::backoff(attempt_number)),
            RetryIn::After(delay) => Some(delay),
            RetryIn::Kill | RetryIn::Discard => None,
        };
        let outcome = match (delay, failed.retry_in) {
            (Some(_), _) => AttemptOutcome::Retrying,
            (None, RetryIn::Kill) => AttemptOutcome::Killed,
            (None, RetryIn::Discard) => AttemptOutcome::Discarded,
            (None, _) => AttemptOutcome::Dead,
        };
        let jid = job.jid();
        let mut traces = Traces { attempt: None, job: JobTraces::of(job, rules.keys) };
        if !jid.is_empty() {
            let record = AttemptRecord::new(attempt_number, now, outcome, failure);
            traces.attempt = Some((rules.keys.job_attempts(jid), record.to_json()));
        }
        let state = if delay.is_some() { "retrying" } else { "failed" };
        let effects = ended.effects(state, Some(failure), rules);
        if outcome == AttemptOutcome::Discarded {
            return Self { effects, ..Self::new(claim, Fate::Discarded { traces }) };
        }
        let filed = Filed {
            set: if delay.is_some() { rules.keys.retry() } else { rules.keys.dead() },
            score: now.plus(delay.unwrap_or_default()),
            entry,
            traces,
            // The locks outlive the wait for the retry, to the second (UNIQ-13).
            lock_ttl: delay
                .map_or(0, |delay| ttl_seconds(delay.saturating_add(Duration::from_secs(rules.lock_ttl)))),
            retried: delay.is_some(),
            death: (delay.is_none() && rules.deaths).then(|| failure.clone()),
        };
        Self { effects, ..Self::new(claim, Fate::Filed(Box::new(filed))) }
    }

    /// Something on a queue that is no job: wrapped and buried (DEAD-06, DEAD-10).
    pub(crate) fn unparseable(claim: Claim, reason: &NotAJobError, rules: Rules<'_>) -> Self {
        let now = EpochSeconds::now();
        let filed = Filed {
            set: rules.keys.dead(),
            score: now,
            entry: unparseable::wrap(&claim.raw, Some(&claim.queue), reason, now),
            traces: Traces::default(),
            lock_ttl: 0,
            retried: false,
            death: None,
        };
        Self::new(claim, Fate::Filed(Box::new(filed)))
    }

    /// Back on the queue that it came from, next to be taken (RFETCH-09).
    pub(crate) fn given_back(claim: Claim, rules: Rules<'_>) -> Self {
        let queue = rules.keys.queue(&claim.queue);
        let job = RawJob::parse(&claim.raw);
        let locks = job.map(|job| JobLocks::of(&job, rules.keys)).unwrap_or_default();
        Self::new(claim, Fate::GivenBack { queue, locks, lock_ttl: rules.lock_ttl })
    }

    /// The same for a run that had begun: its status said `working`.
    pub(crate) fn put_back(claim: Claim, run: &Run, rules: Rules<'_>) -> Self {
        let ttl = rules.status_ttl.filter(|_| !run.jid().as_str().is_empty());
        let effect = ttl.map(|ttl| Effect::Status {
            key: rules.keys.status(run.jid().as_str()),
            ttl,
            fields: progress_of(run).chain([("status".into(), "queued".into())]).collect(),
        });
        Self { effects: effect.into_iter().collect(), ..Self::given_back(claim, rules) }
    }

    /// A failure that its set does not take becomes a record for another process to file (UNS-01).
    pub(crate) fn hand_over(&mut self, keys: &KeySpace) {
        if let Fate::Filed(filed) = &mut self.fate {
            let record = UnsettledRecord::new(std::mem::take(&mut filed.set), filed.score, &filed.entry);
            let traces = std::mem::take(&mut filed.traces);
            let (unsettled, record, lock_ttl) = (keys.unsettled(), record.to_json(), filed.lock_ttl);
            self.fate = Fate::HandedOver { unsettled, record, traces, lock_ttl };
        }
    }

    /// True when it puts a new entry into retry, which may be due before the others.
    pub(crate) fn is_retried(&self) -> bool {
        matches!(&self.fate, Fate::Filed(filed) if filed.retried)
    }

    /// What hooks are told now that it is settled: the entry in dead, and the failure.
    pub(crate) fn into_death(self) -> Option<(Bytes, Failure)> {
        match self.fate {
            Fate::Filed(filed) => {
                let Filed { death, entry, .. } = *filed;
                death.map(|failure| (entry.into(), failure))
            }
            _ => None,
        }
    }

    /// Adds it to a batch.
    pub(crate) fn add_to(&self, batch: &mut SettleBatch) {
        let raw = self.claim.raw.clone();
        match &self.fate {
            Fate::Done { traces } => batch.acknowledge(raw, traces),
            Fate::Filed(filed) => {
                let Filed { set, score, entry, traces, lock_ttl, .. } = &**filed;
                batch.file(raw, set.clone(), *score, entry.clone(), traces.clone(), *lock_ttl);
            }
            Fate::HandedOver { unsettled, record, traces, lock_ttl } => {
                batch.hand_over(raw, unsettled.clone(), record.clone(), traces.clone(), *lock_ttl);
            }
            Fate::Discarded { traces } => batch.discard(raw, traces.clone()),
            Fate::GivenBack { queue, locks, lock_ttl } => {
                batch.give_back(raw, queue.clone(), locks, *lock_ttl);
            }
        }
        for effect in &self.effects {
            batch.add_effect(effect.clone());
        }
    }

    /// How log lines say what follows a failure.
    pub(crate) fn follows(&self) -> String {
        match &self.fate {
            Fate::Filed(filed) if filed.retried => {
                format!("again in {:.0} s", filed.score.since(EpochSeconds::now()).as_secs_f64())
            }
            Fate::Discarded { .. } => "given up".into(),
            _ => "dead".into(),
        }
    }

    /// How log lines say what it came to.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.fate {
            Fate::Done { .. } => "done",
            Fate::Filed(filed) if filed.retried => "to be retried",
            Fate::Filed(_) | Fate::HandedOver { .. } => "failed for good",
            Fate::Discarded { .. } => "given up",
            Fate::GivenBack { .. } => "to go back to its queue",
        }
    }

    /// How log lines name the job.
    pub(crate) fn jid(&self) -> String {
        RawJob::parse(&self.claim.raw).map(|job| job.jid().to_owned()).unwrap_or_default()
    }
}

impl EndedRun<'_> {
    /// Status and history, where they are kept.
    fn effects(&self, state: &'static str, failure: Option<&Failure>, rules: Rules<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let jid = self.job.jid();
        // Clocks may be set back while a job runs.
        let now = EpochSeconds::new(EpochSeconds::now().as_f64().max(self.started_at.as_f64()));
        if let Some(ttl) = rules.status_ttl.filter(|_| !jid.is_empty()) {
            let mut fields: Vec<_> = progress_of(self.run).collect();
            fields.push(("status".into(), state.into()));
            fields.push(("class".into(), self.job.class().into()));
            fields.push(("queue".into(), self.run.queue().into()));
            if let Some(failure) = failure {
                fields.push(("error_class".into(), failure.class.clone()));
                fields.push(("error_message".into(), failure.limited_message().to_owned()));
            }
            effects.push(Effect::Status { key: rules.keys.status(jid), ttl, fields });
        }
        if rules.history {
            let record = RunRecord {
                jid,
                class: self.job.class(),
                queue: self.run.queue(),
                args_json: self.job.args_json(),
                started_at: self.started_at,
                finished_at: now,
                failure,
            };
            let success = failure.is_none();
            effects.push(Effect::History {
                record: record.to_json(),
                finished_at: now,
                success,
                class: self.job.class().to_owned(),
                took: now.since(self.started_at),
            });
        }
        effects
    }
}

/// What the run last said of itself.
fn progress_of(run: &Run) -> impl Iterator<Item = (Cow<'static, str>, String)> {
    run.last_progress().into_iter().map(|(name, value)| (name.into(), value))
}
