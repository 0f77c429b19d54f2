//! Going through the schedule, the retries or the dead in steps: what matches is listed, deleted or put back.

use bytes::Bytes;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Passed, RequeueStep, Step};
use cogworker_core::time::EpochSeconds;

use crate::EntryRef;
use crate::entry_filter::EntryFilter;
use crate::job_set::{Entry, JobSet, KilledAll, RequeuedAll};

/// A way through a [`JobSet`], by score. Each step is one or two calls of bounded size, and an error leaves
/// the walk where it was: [`looked_at`](Self::looked_at) tells how far it got, and the next step goes on there.
///
/// It ends after as many entries as there were when it began, so that what comes back meanwhile (a retry
/// that fails again) is not met for ever.
///
/// ```no_run
/// # use cogworker_client::{Client, EntryFilter};
/// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut walk = client.dead().walk(EntryFilter::new().class("ImportJob"));
/// while let Some(deleted) = walk.delete_next().await? {
///     println!("{deleted} deleted, {} of {} looked at", walk.looked_at(), walk.total());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Walk {
    set: JobSet,
    filter: EntryFilter,
    /// The last entry looked at that stays.
    after: Option<(Bytes, EpochSeconds)>,
    total: Option<u64>,
    looked_at: u64,
    /// How many of those stay.
    stay: u64,
}

/// Stands for no entry: a walk that goes on after it goes on with the first of its score.
const NOWHERE: &[u8] = b"\0 no entry";

/// What one step came by.
struct Slice {
    matching: Vec<Passed>,
    /// The last one that does not match.
    other: Option<Passed>,
    looked_at: u64,
}

impl JobSet {
    /// Begins a walk to the entries that `filter` means.
    pub fn walk(&self, filter: EntryFilter) -> Walk {
        Walk { set: self.clone(), filter, after: None, total: None, looked_at: 0, stay: 0 }
    }
}

impl Walk {
    /// How many entries there were when it began; 0 before the first step.
    pub fn total(&self) -> u64 {
        self.total.unwrap_or(0)
    }

    /// How many entries it has looked at.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Where it is, for [`go_on_from`](Self::go_on_from).
    pub fn position(&self) -> EntryRef {
        match &self.after {
            Some((raw, score)) => EntryRef::new(raw, self.stay.saturating_sub(1), Some(*score)),
            None => EntryRef::new(NOWHERE, 0, Some(EpochSeconds::FIRST)),
        }
    }

    /// Goes on where another walk of the same set was. Where the entry there is gone, or has thousands of others of its
    /// score before it and they changed, some may be met again.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn go_on_from(&mut self, position: &EntryRef) -> Result<(), RedisError> {
        let Some(score) = position.score() else { return Ok(()) };
        self.after = match self.set.look_up(position).await? {
            Some(found) => {
                (self.looked_at, self.stay) = (found.place + 1, found.place + 1);
                Some((found.entry, score))
            }
            None => Some((Bytes::from_static(NOWHERE), score)),
        };
        Ok(())
    }

    /// The next entries that match, perhaps none; `None` at the end.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn next(&mut self) -> Result<Option<Vec<Entry>>, RedisError> {
        let Some(step) = self.look().await? else { return Ok(None) };
        let entries = step.matching.iter().map(|it| Entry { raw: it.entry.clone(), score: it.score });
        let entries = entries.collect();
        self.pass(step, |_| true);
        Ok(Some(entries))
    }

    /// Deletes the next entries that match, and frees their jobs' locks; how many there were, perhaps none.
    /// `None` at the end.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn delete_next(&mut self) -> Result<Option<u64>, RedisError> {
        let Some(step) = self.look().await? else { return Ok(None) };
        let entries: Vec<Bytes> = step.matching.iter().map(|entry| entry.entry.clone()).collect();
        let mut deleted = 0;
        if !entries.is_empty() {
            let each = scripts::delete_entries(self.set.redis(), &self.set.source(), &entries).await?;
            deleted = each.into_iter().filter(|deleted| *deleted).count() as u64;
        }
        self.pass(step, |_| false);
        Ok(Some(deleted))
    }

    /// Puts the next entries that match on their queues, the next due and the longest dead first, as
    /// [`JobSet::requeue`] does; `None` at the end.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    pub async fn requeue_next(&mut self) -> Result<Option<RequeuedAll>, RedisError> {
        let Some(step) = self.look().await? else { return Ok(None) };
        let now = EpochSeconds::now();
        let mut all = RequeuedAll { requeued: 0, left: 0, error: None };
        let (mut places, mut moves) = (Vec::new(), Vec::new());
        for entry in &step.matching {
            if let Some(requeue) = self.set.to_requeue(&entry.entry, now) {
                places.push(entry.place);
                moves.push(requeue);
            }
        }
        all.left += (step.matching.len() - moves.len()) as u64;
        let mut gone = Vec::new();
        if !moves.is_empty() {
            let (steps, error) = self.set.requeue_entries(moves).await?;
            all.error = error;
            for (place, step) in places.into_iter().zip(steps) {
                match step {
                    RequeueStep::Requeued => all.requeued += 1,
                    RequeueStep::Gone => {}
                    RequeueStep::Duplicate | RequeueStep::Refused => {
                        all.left += 1;
                        continue;
                    }
                }
                gone.push(place);
            }
        }
        self.pass(step, |place| gone.binary_search(&place).is_err());
        Ok(Some(all))
    }

    /// Moves the next entries that match into dead, as [`JobSet::kill`] does; `None` at the end.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    pub async fn kill_next(&mut self) -> Result<Option<KilledAll>, RedisError> {
        let Some(step) = self.look().await? else { return Ok(None) };
        let entries: Vec<Bytes> = step.matching.iter().map(|entry| entry.entry.clone()).collect();
        let mut all = KilledAll { killed: 0, left: 0, error: None };
        let mut gone = Vec::new();
        if !entries.is_empty() {
            let (steps, error) = self.set.kill_entries(&entries).await?;
            let count = |wanted| steps.iter().filter(|step| **step == wanted).count() as u64;
            (all.killed, all.left) = (count(Step::Applied), count(Step::Failed));
            let places = step.matching.iter().map(|entry| entry.place).zip(steps);
            gone = places.filter(|(_, step)| *step != Step::Failed).map(|(place, _)| place).collect();
            all.error = error;
        }
        self.pass(step, |place| gone.binary_search(&place).is_err());
        Ok(Some(all))
    }

    /// Gives the next entries that match the time `at`, the same in each step; how many there were. `None` at the end.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn reschedule_next(&mut self, at: impl Into<EpochSeconds>) -> Result<Option<u64>, RedisError> {
        let at = at.into();
        let Some(mut step) = self.look().await? else { return Ok(None) };
        // Those that were moved already come again where they are now, and count once.
        let (moved, matching): (Vec<_>, Vec<_>) = step.matching.into_iter().partition(|it| it.score == at);
        step.looked_at -= moved.len() as u64;
        let entries: Vec<Bytes> = matching.iter().map(|entry| entry.entry.clone()).collect();
        let mut rescheduled = 0;
        if !entries.is_empty() {
            let each = self.set.reschedule_entries(&entries, at).await?;
            rescheduled = each.into_iter().filter(|done| *done).count() as u64;
        }
        self.looked_at += step.looked_at;
        self.stay += (step.looked_at).saturating_sub(matching.len() as u64);
        let kept = moved.into_iter().chain(step.other).max_by_key(|entry| entry.place);
        let left = matching.into_iter().max_by_key(|entry| entry.place);
        self.after = match (kept, left) {
            (Some(kept), Some(left)) if kept.place < left.place && kept.score != left.score => {
                Some((Bytes::from_static(NOWHERE), left.score))
            }
            (None, Some(left)) => Some((Bytes::from_static(NOWHERE), left.score)),
            (Some(kept), _) => Some((kept.entry, kept.score)),
            (None, None) => self.after.take(),
        };
        Ok(Some(rescheduled))
    }

    async fn look(&mut self) -> Result<Option<Slice>, RedisError> {
        let left = self.total.map_or(u64::MAX, |total| total.saturating_sub(self.looked_at));
        if left == 0 {
            return Ok(None);
        }
        let needle = self.filter.needle();
        let step = scripts::walk_set(self.set.redis(), self.set.key(), self.after.as_ref(), &needle).await?;
        let left = self.total.map_or(step.total, |_| left);
        self.total.get_or_insert(step.total);
        if step.looked_at == 0 {
            return Ok(None);
        }
        let (mut matching, mut other) = (Vec::new(), step.last_other);
        for entry in step.found {
            if entry.place <= left && self.filter.means(Some(self.set.kind()), &entry.entry, entry.score) {
                matching.push(entry);
            } else if other.as_ref().is_none_or(|other| other.place < entry.place) {
                other = Some(entry);
            }
        }
        Ok(Some(Slice { matching, other, looked_at: step.looked_at.min(left) }))
    }

    /// Goes on behind the last entry of the step that stays.
    fn pass(&mut self, step: Slice, stays: impl Fn(u64) -> bool) {
        self.looked_at += step.looked_at;
        let gone = step.matching.iter().filter(|entry| !stays(entry.place)).count() as u64;
        self.stay += step.looked_at.saturating_sub(gone);
        let kept = step.matching.into_iter().rev().find(|entry| stays(entry.place));
        let last = kept.into_iter().chain(step.other).max_by_key(|entry| entry.place);
        if let Some(Passed { entry, score, .. }) = last {
            self.after = Some((entry, score));
        }
    }
}
