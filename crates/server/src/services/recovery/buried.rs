//! Telling hooks of the jobs that recovery buried.

use std::collections::HashSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_LIMIT};

use super::{PLACE, Recovery};
use crate::deaths::Deaths;

/// Entries that a call may have put into dead: its reply got lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubtful(Arc<Mutex<Vec<Buried>>>);

/// An entry on its way into dead.
#[derive(Debug, Clone)]
pub(super) enum Buried {
    /// Of a job that was recovered too often (DEATH-07).
    Orphan(Bytes),
    /// A failure that a stopped process handed over (DEATH-06).
    Record(Bytes),
}

impl Buried {
    pub(super) fn tell(self, deaths: &Deaths) {
        match self {
            Self::Orphan(entry) => deaths.tell_of_orphan(entry),
            Self::Record(entry) => deaths.tell_of_record(entry),
        }
    }

    fn entry(&self) -> &Bytes {
        match self {
            Self::Orphan(entry) | Self::Record(entry) => entry,
        }
    }
}

impl Recovery {
    /// Keeps what a failed call may have buried. Hands its result on.
    pub(super) fn or_doubt<T>(
        &self,
        result: Result<T, RedisError>,
        buried: impl IntoIterator<Item = Buried>,
    ) -> Result<T, RedisError> {
        if let Err(failure) = &result
            && failure.fate_is_unknown()
            && self.deaths.are_heard()
        {
            self.doubtful.0.lock().unwrap_or_else(PoisonError::into_inner).extend(buried);
        }
        result
    }

    /// Looks for what lost calls may have buried, and tells of what stands in dead.
    pub(super) async fn clear_doubts(&self) -> Result<(), RedisError> {
        let mut doubtful = mem::take(&mut *self.doubtful.0.lock().unwrap_or_else(PoisonError::into_inner));
        // A record that was handed over twice is one death.
        let mut seen = HashSet::new();
        doubtful.retain(|buried| seen.insert(buried.entry().clone()));
        while !doubtful.is_empty() {
            let some = doubtful.split_off(doubtful.len().saturating_sub(BATCH_LIMIT));
            let entries: Vec<_> = some.iter().map(|buried| buried.entry().clone()).collect();
            match self.line.call(PLACE, |redis| scripts::find_standing(redis, &entries)).await {
                Ok(standing) => {
                    for (index, buried) in some.into_iter().enumerate() {
                        if standing.contains(&index) {
                            buried.tell(&self.deaths);
                        }
                    }
                }
                Err(failure) => {
                    let mut kept = self.doubtful.0.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(doubtful.into_iter().chain(some));
                    return Err(failure);
                }
            }
        }
        Ok(())
    }
}
