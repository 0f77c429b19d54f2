//! Which runs hold the running lock of their periodic entry.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use cogworker_core::locks::JobLocks;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::Redis;
use cogworker_core::scripts::RunningLock;

use super::slots::RunId;

/// This process's own record, kept by the engine and read by the heartbeat (RUNLK-08): it is right
/// even when the work hash is lost. A run is struck off before its lock is released (RUNLK-11).
#[derive(Debug, Default)]
pub(crate) struct RunningLocks {
    held: Mutex<HashMap<RunId, RunningLock>>,
}

impl RunningLocks {
    /// Notes a run, if it holds such a lock.
    pub(crate) fn begin(&self, run: RunId, job: &RawJob<'_>, raw: &Bytes, redis: &Redis) {
        if !job.periodic_until_executed() {
            return;
        }
        let locks = JobLocks::of(job, redis.keys());
        if let Some(key) = locks.running {
            let lock = RunningLock { key, jid: locks.jid, job: raw.clone() };
            self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(run, lock);
        }
    }

    pub(crate) fn end(&self, run: RunId) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
    }

    pub(crate) fn all(&self) -> Vec<RunningLock> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
