//! A worker process in its places: one that counts, and one that is leaving.

use std::time::Duration;

use super::{Signal, Time, WorkerId};

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    /// Known once the process is there.
    pub(super) identity: Option<String>,
    pub(super) started_at: Time,
    /// When it said so.
    pub(super) ready_at: Option<Time>,
    /// What it is to be told once it is ready.
    pub(super) missed: Vec<Signal>,
}

impl Worker {
    pub(super) fn new(id: WorkerId, now: Time) -> Self {
        Self { id, identity: None, started_at: now, ready_at: None, missed: Vec::new() }
    }

    pub(super) fn ready_for(&self, now: Time) -> Option<Duration> {
        self.ready_at.map(|since| now.saturating_sub(since))
    }
}

/// A worker that was told to stop.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) worker: Worker,
    pub(super) kill_at: Time,
    pub(super) killed: bool,
}

impl Leaving {
    pub(super) fn new(worker: Worker, kill_at: Time) -> Self {
        Self { worker, kill_at, killed: false }
    }
}
