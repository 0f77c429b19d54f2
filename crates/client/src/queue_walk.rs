//! Going through a queue in steps and deleting what matches, while jobs are pushed and taken.

use bytes::Bytes;
use cogworker_core::page::Page;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;
use cogworker_core::time::EpochSeconds;

use crate::{EntryFilter, EntryRef, Queue};

/// A way through a [`Queue`], from the job that is taken next on. Each step is a few calls of bounded size. It ends
/// after as many jobs as there were when it began; those that are pushed meanwhile stay.
#[derive(Debug)]
pub struct QueueWalk {
    queue: Queue,
    filter: EntryFilter,
    /// How many jobs that stay come before the next step.
    kept: u64,
    /// The last of them: where it stands now tells how many were taken meanwhile.
    last_kept: Option<Bytes>,
    total: Option<u64>,
    looked_at: u64,
}

/// Stands for no job.
const NOTHING: &[u8] = b"\0 no job";

impl Queue {
    /// Begins a walk to the jobs that `filter` means.
    pub fn walk(&self, filter: EntryFilter) -> QueueWalk {
        QueueWalk { queue: self.clone(), filter, kept: 0, last_kept: None, total: None, looked_at: 0 }
    }
}

impl QueueWalk {
    /// How many jobs there were when it began; 0 before the first step.
    pub fn total(&self) -> u64 {
        self.total.unwrap_or(0)
    }

    /// How many jobs it has looked at.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Where it is, for [`go_on_from`](Self::go_on_from).
    pub fn position(&self) -> EntryRef {
        let last = self.last_kept.as_deref().unwrap_or(NOTHING);
        EntryRef::new(last, self.kept.saturating_sub(1), None)
    }

    /// Goes on where another walk of the same queue was; from the beginning where the job there was taken.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn go_on_from(&mut self, position: &EntryRef) -> Result<(), RedisError> {
        if let Some(found) = self.queue.look_up(position).await? {
            (self.kept, self.looked_at) = (found.place + 1, found.place + 1);
            self.last_kept = Some(found.entry);
        }
        Ok(())
    }

    /// Deletes the next jobs that match, and frees their locks; how many there were, perhaps none. `None` at the end.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn delete_next(&mut self) -> Result<Option<u64>, RedisError> {
        let left = self.total.map_or(u64::MAX, |total| total.saturating_sub(self.looked_at));
        if left == 0 {
            return Ok(None);
        }
        let source = self.queue.source();
        let skip = self.kept - u64::from(self.last_kept.is_some());
        let Page { total, mut entries, .. } =
            scripts::peek_entries(self.queue.redis(), &source, skip).await?;
        if let Some(last) = &self.last_kept {
            if entries.first() != Some(last) {
                self.find_place().await?;
                return Ok(Some(0));
            }
            entries.remove(0);
            if entries.is_empty() && total > self.kept {
                // The last one fills a call alone.
                entries = scripts::peek_entries(self.queue.redis(), &source, self.kept).await?.entries;
            }
        }
        let left = self.total.get_or_insert(total).saturating_sub(self.looked_at);
        entries.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if entries.is_empty() {
            return Ok(None);
        }
        self.looked_at += entries.len() as u64;
        let is_meant = |raw: &Bytes| self.filter.means(None, raw, EpochSeconds::EPOCH);
        let (meant, kept): (Vec<Bytes>, Vec<Bytes>) = entries.into_iter().partition(is_meant);
        self.kept += kept.len() as u64;
        self.last_kept = kept.into_iter().last().or(self.last_kept.take());
        if meant.is_empty() {
            return Ok(Some(0));
        }
        let each = scripts::delete_entries(self.queue.redis(), &source, &meant).await?;
        Ok(Some(each.into_iter().filter(|deleted| *deleted).count() as u64))
    }

    /// Jobs were taken, so that those that stay moved up.
    async fn find_place(&mut self) -> Result<(), RedisError> {
        let Some(last) = self.last_kept.take() else { return Ok(()) };
        let entry = EntryRef::new(&last, self.kept - 1, None);
        match self.queue.place_of(&entry).await? {
            Some(place) => (self.kept, self.last_kept) = (place + 1, Some(last)),
            // It was taken itself, and with it all before it.
            None => self.kept = 0,
        }
        Ok(())
    }
}
