//! The locks that a job holds while it is queued, running or waiting for a retry, and what else it
//! leaves under its id.

use std::time::Duration;

use crate::digest::unique_digest;
use crate::keys::{Key, KeySpace};
use crate::raw_job::RawJob;
use crate::time::{EpochSeconds, ttl_seconds};

/// The keys of a job's locks. They are the job's own only while they hold its jid, so every
/// script that changes one compares first (UNIQ-17, RUNLK-05).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobLocks {
    /// The job's id, as the locks should hold it.
    pub jid: String,
    /// Keeps equal jobs from being enqueued (UNIQ-01).
    pub unique: Option<Key>,
    /// Keeps the next run of its periodic entry from starting (RUNLK-02).
    pub running: Option<Key>,
    /// True when a lapsed running lock is taken again while the job is queued (REQ-07).
    pub until_executed: bool,
}

impl JobLocks {
    /// Those of `job`; none for most jobs.
    pub fn of(job: &RawJob<'_>, keys: &KeySpace) -> Self {
        let jid = job.jid();
        if jid.is_empty() || !(job.is_unique() || job.periodic_pjid().is_some()) {
            return Self::default();
        }
        let unique = job.is_unique().then(|| {
            let queue = job.queue().unwrap_or("default");
            keys.unique(&unique_digest(job.class(), queue, job.args_json()))
        });
        Self {
            jid: jid.to_owned(),
            unique,
            running: job.periodic_pjid().map(|pjid| keys.periodic_running(pjid)),
            until_executed: job.periodic_until_executed(),
        }
    }

    /// True for a job without locks.
    pub fn is_empty(&self) -> bool {
        self.unique.is_none() && self.running.is_none()
    }
}

/// What a job leaves beside itself and what goes with it, whichever way it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobTraces {
    /// The key that counts how often it was recovered from a dead process; a job without a jid is
    /// not counted.
    pub orphan_counter: Option<Key>,
    /// Its locks.
    pub locks: JobLocks,
    /// Its status, where that is changed with it.
    pub status: Option<Key>,
}

impl JobTraces {
    /// Those of `job`.
    pub fn of(job: &RawJob<'_>, keys: &KeySpace) -> Self {
        let jid = job.jid();
        Self {
            orphan_counter: (!jid.is_empty()).then(|| keys.orphanings(jid)),
            locks: JobLocks::of(job, keys),
            status: None,
        }
    }

    /// The same, and its status, if it has one.
    pub fn with_status(job: &RawJob<'_>, keys: &KeySpace) -> Self {
        let jid = job.jid();
        Self { status: (!jid.is_empty()).then(|| keys.status(jid)), ..Self::of(job, keys) }
    }
}

/// For how many seconds a lock is taken that shall last `ttl` from when the job is due, or from now
/// on when that is not later (UNIQ-11).
pub fn lock_seconds(ttl: Duration, due: Option<EpochSeconds>, now: EpochSeconds) -> u64 {
    let delay = due.map_or(Duration::ZERO, |due| due.since(now));
    ttl_seconds(ttl.saturating_add(delay))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks(json: &str) -> JobLocks {
        JobLocks::of(&RawJob::parse(json.as_bytes()).unwrap(), &KeySpace::default())
    }

    #[test]
    fn a_job_without_a_jid_leaves_nothing() {
        let of = |json: &str| JobTraces::of(&RawJob::parse(json.as_bytes()).unwrap(), &KeySpace::default());
        assert_eq!(of(r#"{"class":"A","unique":"until_executed"}"#), JobTraces::default());
        let counted = of(r#"{"class":"A","jid":"j"}"#);
        assert_eq!(counted.orphan_counter.as_deref(), Some("cogworker:orphanings:j"));
        assert!(counted.locks.is_empty());
    }

    #[test]
    fn only_unique_and_periodic_jobs_have_locks_uniq_01_runlk_01() {
        assert!(locks(r#"{"class":"A","jid":"j"}"#).is_empty());
        assert!(locks(r#"{"class":"A","jid":"j","unique":"while_executing"}"#).is_empty());
        assert!(locks(r#"{"class":"A","unique":"until_executed"}"#).is_empty(), "nobody owns it");
    }

    #[test]
    fn the_unique_lock_is_named_by_class_queue_and_args_uniq_02() {
        let held = locks(r#"{"class":"A","queue":"q","args":[1, 2.0],"jid":"j","unique":"until_executed"}"#);
        let digest = unique_digest("A", "q", "[1,2.0]");
        assert_eq!(held.unique, Some(format!("cogworker:unique:{digest}")));
        assert_eq!((held.running, held.jid.as_str()), (None, "j"));
    }

    #[test]
    fn the_running_lock_is_named_by_the_periodic_entry() {
        let held = locks(r#"{"class":"A","jid":"j","periodic_pjid":"p","periodic_until_executed":true}"#);
        assert_eq!(held.running.as_deref(), Some("periodic:running:p"));
        assert!(held.until_executed && !held.is_empty());
    }

    #[test]
    fn a_lock_lasts_from_when_the_job_is_due_and_is_rounded_up_uniq_11() {
        let (day, now) = (Duration::from_secs(86_400), EpochSeconds::new(1000.0));
        let seconds = |due: f64| lock_seconds(day, Some(EpochSeconds::new(due)), now);
        assert_eq!(lock_seconds(day, None, now), 86_400);
        assert_eq!(seconds(1000.5), 86_401);
        assert_eq!(seconds(3000.0), 88_400);
        assert_eq!(seconds(500.0), 86_400, "overdue");
        assert_eq!(seconds(1e300), 100_000_000_000);
        assert_eq!(lock_seconds(Duration::ZERO, None, now), 1);
    }
}
