//! A job that is running.

use bytes::Bytes;

use super::store::{Store, Stored};

/// Goes back where it came from when its run is cut off, as in a worker.
pub(super) struct Held<'a> {
    store: &'a Store,
    job: Stored,
    cut_off: bool,
}

impl<'a> Held<'a> {
    pub(super) fn new(store: &'a Store, job: Stored) -> Self {
        Self { store, job, cut_off: true }
    }

    pub(super) fn raw(&self) -> &Bytes {
        &self.job.raw
    }

    /// The job, whose run has ended.
    pub(super) fn taken(mut self) -> Stored {
        self.cut_off = false;
        self.job.clone()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.cut_off {
            self.store.put_back(self.job.clone());
        }
    }
}
