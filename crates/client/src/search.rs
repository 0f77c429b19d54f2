//! Looking through queues and sets for jobs of one kind, in steps.

use bytes::Bytes;
use cogworker_core::page::SearchOrder;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, EntrySource};
use cogworker_core::time::EpochSeconds;

use crate::{EntryFilter, EntryRef, JobSet, Queue, RunningJob};

/// A search that looks at this many bytes stops there, whatever it was asked for.
const MOST_BYTES: usize = 8 << 20;
/// So many entries are looked at in one call.
const SLICE: u64 = 1000;

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// How many entries stand before it in the search's order.
    pub place: u64,
    /// The stored bytes.
    pub raw: Bytes,
    /// When it is due, or died; `None` in a queue.
    pub score: Option<EpochSeconds>,
    /// What finds it again.
    pub entry: EntryRef,
}

/// A part of a queue or a set that was looked through.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SearchPage {
    /// How many entries there are.
    pub total: u64,
    /// How many of them were looked at, from where it was asked to begin. Fewer than were asked for when they are
    /// large, or at the end.
    pub looked_at: u64,
    /// Those that the filter means.
    pub found: Vec<Found>,
}

impl SearchPage {
    /// The same, of jobs that run: their place is that in `running`.
    #[doc(hidden)]
    pub fn of_running(running: &[RunningJob], filter: &EntryFilter, skip: u64, most: u64) -> Self {
        let total = running.len() as u64;
        let (skip, most) = (skip.min(total), most.min(total));
        let mut page = Self { total, looked_at: most.min(total - skip), found: Vec::new() };
        for (place, job) in running.iter().enumerate().skip(skip as usize).take(most as usize) {
            let raw = Bytes::copy_from_slice(job.work.raw.get().as_bytes());
            if filter.is_met_by(&raw) {
                let place = place as u64;
                page.found.push(Found { place, entry: EntryRef::new(&raw, place, None), raw, score: None });
            }
        }
        page
    }
}

impl JobSet {
    /// Looks at up to `most` entries after `skip` others, in steps of bounded size, and gives those that `filter` means.
    /// What comes and goes meanwhile may be met twice, or not: to change what is found, [`walk`](Self::walk).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn search(
        &self,
        filter: &EntryFilter,
        order: SearchOrder,
        skip: u64,
        most: u64,
    ) -> Result<SearchPage, RedisError> {
        let is_meant = |raw: &Bytes, score: EpochSeconds| filter.means(Some(self.kind()), raw, score);
        search(self.redis(), &self.source(), filter, (order, skip, most), is_meant).await
    }
}

impl Queue {
    /// [`JobSet::search`], of the jobs that wait.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn search(
        &self,
        filter: &EntryFilter,
        order: SearchOrder,
        skip: u64,
        most: u64,
    ) -> Result<SearchPage, RedisError> {
        let is_meant = |raw: &Bytes, score: EpochSeconds| filter.means(None, raw, score);
        search(self.redis(), &self.source(), filter, (order, skip, most), is_meant).await
    }
}

async fn search(
    redis: &Redis,
    source: &EntrySource,
    filter: &EntryFilter,
    (order, skip, most): (SearchOrder, u64, u64),
    is_meant: impl Fn(&Bytes, EpochSeconds) -> bool,
) -> Result<SearchPage, RedisError> {
    let texts = filter.texts();
    let mut page = SearchPage::default();
    let mut bytes = 0;
    while page.looked_at < most && bytes < MOST_BYTES {
        let wanted = (most - page.looked_at).min(SLICE);
        let step =
            scripts::search_entries(redis, source, order, skip + page.looked_at, wanted, &texts).await?;
        page.total = step.total;
        if step.looked_at == 0 {
            break;
        }
        page.looked_at += step.looked_at;
        for it in step.found {
            bytes += it.entry.len();
            if !is_meant(&it.entry, it.score.unwrap_or(EpochSeconds::EPOCH)) {
                continue;
            }
            let from_next = if order == SearchOrder::LastFirst {
                step.total.saturating_sub(it.place + 1)
            } else {
                it.place
            };
            let entry = EntryRef::new(&it.entry, from_next, it.score);
            page.found.push(Found { place: it.place, entry, raw: it.entry, score: it.score });
        }
    }
    Ok(page)
}
