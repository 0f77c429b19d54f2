//! Going through the schedule, the retries or the dead in steps: what matches is listed, deleted or put back.

use std::time::Duration;

use bytes::Bytes;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Passed, RequeueStep};
use cogworker_core::time::EpochSeconds;

use crate::job_set::{Entry, JobSet, RequeuedAll, SetKind};

/// Which entries of a [`JobSet`] are meant: all of them, but for what is asked.
///
/// ```
/// use std::time::Duration;
/// use cogworker_client::EntryFilter;
///
/// let old_timeouts = EntryFilter::new().class("ImportJob").error("timeout").older_than(Duration::from_secs(86_400));
/// ```
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    class: Option<String>,
    jid: Option<String>,
    /// In lower case.
    error: Option<String>,
    older_than: Option<Duration>,
    damaged: bool,
}

impl EntryFilter {
    /// Every entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only jobs of this class.
    #[must_use]
    pub fn class(mut self, class: &str) -> Self {
        self.class = Some(class.to_owned());
        self
    }

    /// Only the job with this id; there may be several.
    #[must_use]
    pub fn jid(mut self, jid: &str) -> Self {
        self.jid = Some(jid.to_owned());
        self
    }

    /// Only jobs whose last error, as `Class: message`, has this part. Case does not matter.
    #[must_use]
    pub fn error(mut self, part: &str) -> Self {
        self.error = Some(part.to_lowercase());
        self
    }

    /// Only jobs that died, first failed or were scheduled, depending on the set, longer than `age` ago.
    #[must_use]
    pub fn older_than(mut self, age: Duration) -> Self {
        self.older_than = Some(age);
        self
    }

    /// Only entries that are no JSON object, which nobody can run.
    #[must_use]
    pub fn damaged(mut self) -> Self {
        self.damaged = true;
        self
    }

    /// A text that each match holds, so that Redis sends no others; empty when there is none that is sure to be
    /// written in one way only.
    fn needle(&self) -> String {
        let plain = |text: &&String| {
            let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'/');
            !text.is_empty() && text.bytes().all(is_plain)
        };
        let text = self.jid.as_ref().filter(plain).or_else(|| self.class.as_ref().filter(plain));
        text.map(|text| format!("\"{text}\"")).unwrap_or_default()
    }

    fn matches(&self, kind: SetKind, entry: &Passed, now: EpochSeconds) -> bool {
        let job = RawJob::parse(&entry.entry);
        if self.damaged && job.is_ok() {
            return false;
        }
        let is_of = |text: &str, wanted: &Option<String>| wanted.as_ref().is_none_or(|wanted| text == wanted);
        let job = job.as_ref().ok();
        let named = match job {
            Some(job) => is_of(job.class(), &self.class) && is_of(job.jid(), &self.jid),
            None => self.class.is_none() && self.jid.is_none(),
        };
        named
            && self.error.as_ref().is_none_or(|part| job.is_some_and(|job| has_error(job, part)))
            && self.older_than.is_none_or(|age| {
                let since = match (kind, job) {
                    (SetKind::Dead, _) => Some(entry.score),
                    (SetKind::Retry, job) => job.and_then(|job| job.failed_at()),
                    (SetKind::Schedule, job) => {
                        job.and_then(|job| job.number_field("created_at")).map(EpochSeconds::new)
                    }
                };
                since.is_some_and(|since| now.since(since) > age)
            })
    }
}

fn has_error(job: &RawJob<'_>, part: &str) -> bool {
    let field = |name| job.text_field(name).unwrap_or_default();
    format!("{}: {}", field("error_class"), field("error_message")).to_lowercase().contains(part)
}

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
    now: EpochSeconds,
}

/// What one step came by.
struct Step {
    matching: Vec<Passed>,
    /// The last one that does not match.
    other: Option<Passed>,
    looked_at: u64,
}

impl JobSet {
    /// Begins a walk to the entries that `filter` means.
    pub fn walk(&self, filter: EntryFilter) -> Walk {
        let now = EpochSeconds::now();
        Walk { set: self.clone(), filter, after: None, total: None, looked_at: 0, now }
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

    async fn look(&mut self) -> Result<Option<Step>, RedisError> {
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
            if entry.place <= left && self.filter.matches(self.set.kind(), &entry, self.now) {
                matching.push(entry);
            } else if other.as_ref().is_none_or(|other| other.place < entry.place) {
                other = Some(entry);
            }
        }
        Ok(Some(Step { matching, other, looked_at: step.looked_at.min(left) }))
    }

    /// Goes on behind the last entry of the step that stays.
    fn pass(&mut self, step: Step, stays: impl Fn(u64) -> bool) {
        self.looked_at += step.looked_at;
        let kept = step.matching.into_iter().rev().find(|entry| stays(entry.place));
        let last = kept.into_iter().chain(step.other).max_by_key(|entry| entry.place);
        if let Some(Passed { entry, score, .. }) = last {
            self.after = Some((entry, score));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_searches_only_for_what_is_written_in_one_way() {
        let needle = |filter: EntryFilter| filter.needle();
        assert_eq!(needle(EntryFilter::new()), "");
        assert_eq!(needle(EntryFilter::new().class("Billing::Charge")), "\"Billing::Charge\"");
        assert_eq!(needle(EntryFilter::new().class("A").jid("ab12")), "\"ab12\"");
        for odd in ["", "größe", "a/b", "a\"b", "a b", "a\\b"] {
            assert_eq!(needle(EntryFilter::new().class(odd)), "", "{odd}");
        }
    }

    #[test]
    fn an_entry_has_to_meet_all_that_is_asked() {
        let now = EpochSeconds::new(10_000.0);
        let entry = |raw: &'static str| Passed {
            place: 1,
            entry: Bytes::from_static(raw.as_bytes()),
            score: EpochSeconds::new(9_000.0),
        };
        let job = entry(
            r#"{"class":"A","jid":"1","created_at":1.0,"failed_at":5000.0,"error_class":"IOError","error_message":"Timed OUT"}"#,
        );
        let is = |filter: EntryFilter, kind| filter.matches(kind, &job, now);
        let hours = |seconds| EntryFilter::new().older_than(Duration::from_secs(seconds));
        assert!(is(EntryFilter::new().class("A").jid("1").error("ioerror: timed out"), SetKind::Retry));
        assert!(!is(EntryFilter::new().class("A").error("refused"), SetKind::Retry));
        assert!(!is(EntryFilter::new().class("a"), SetKind::Retry));
        assert!(is(hours(999), SetKind::Dead) && !is(hours(1000), SetKind::Dead));
        assert!(is(hours(4999), SetKind::Retry) && !is(hours(5000), SetKind::Retry));
        assert!(is(hours(9998), SetKind::Schedule) && !is(hours(9999), SetKind::Schedule));
        assert!(!is(EntryFilter::new().damaged(), SetKind::Dead));
        let damaged = entry("[1]");
        assert!(EntryFilter::new().matches(SetKind::Dead, &damaged, now));
        assert!(EntryFilter::new().damaged().matches(SetKind::Dead, &damaged, now));
        assert!(!EntryFilter::new().class("").matches(SetKind::Dead, &damaged, now));
        assert!(!EntryFilter::new().error("").matches(SetKind::Dead, &damaged, now));
    }
}
