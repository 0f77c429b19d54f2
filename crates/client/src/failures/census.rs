//! Taking the census.

use std::collections::HashMap;

use bytes::Bytes;
use cogworker_core::page::SearchOrder;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;
use cogworker_core::time::EpochSeconds;

use super::{CENSUS_LIMIT, FailureCensus, FailureCounts, FailureGroup, RECENT_HOURS, message_pattern};
use crate::job_set::SetKind;
use crate::{Client, JobSet};

/// So many entries are read at a time.
const SLICE: u64 = 500;
/// Of entries that fill so much, no more are read: a page waits for it, and jobs may be megabytes.
const MOST_BYTES: usize = 8 << 20;

pub(super) async fn take(client: &Client) -> Result<FailureCensus, RedisError> {
    let mut count =
        Count { now: EpochSeconds::now(), census: FailureCensus::default(), groups: HashMap::new() };
    count.set(&client.retries(), |counts| &mut counts.retrying).await?;
    count.set(&client.dead(), |counts| &mut counts.dead).await?;
    Ok(count.finish())
}

struct Count {
    now: EpochSeconds,
    census: FailureCensus,
    groups: HashMap<(String, String), FailureGroup>,
}

impl Count {
    async fn set(
        &mut self,
        set: &JobSet,
        kind: impl Fn(&mut FailureCounts) -> &mut u64,
    ) -> Result<(), RedisError> {
        let order = match set.kind() {
            SetKind::Dead => SearchOrder::LastFirst,
            _ => SearchOrder::NextFirst,
        };
        let (mut read, mut bytes) = (0, 0);
        loop {
            let step = scripts::search_entries(set.redis(), &set.source(), order, read, SLICE, &[]).await?;
            for found in &step.found {
                bytes += found.entry.len();
                self.entry(&found.entry, found.score.unwrap_or(EpochSeconds::EPOCH), &kind);
            }
            read += step.looked_at;
            if step.looked_at == 0 || read >= step.total || read >= CENSUS_LIMIT as u64 || bytes >= MOST_BYTES
            {
                self.census.searched += read;
                self.census.total += step.total.max(read);
                return Ok(());
            }
        }
    }

    fn entry(&mut self, raw: &Bytes, score: EpochSeconds, kind: &impl Fn(&mut FailureCounts) -> &mut u64) {
        // What is no job has no error; its own tab shows it.
        let Ok(job) = RawJob::parse(raw) else { return };
        let queue = job.queue().unwrap_or_default().to_owned();
        *kind(self.census.queues.entry(queue.clone()).or_default()) += 1;
        let error_class = job.field_as::<String>("error_class").unwrap_or_default();
        let message = job.field_as::<String>("error_message").unwrap_or_default();
        let pattern = message_pattern(&message);
        let group =
            self.groups.entry((error_class, pattern)).or_insert_with_key(|(class, pattern)| FailureGroup {
                error_class: class.clone(),
                message: pattern.clone(),
                example: message,
                classes: Default::default(),
                queues: Default::default(),
                counts: FailureCounts::default(),
                recent: vec![0; RECENT_HOURS],
                first_seen: None,
                last_seen: None,
            });
        *kind(&mut group.counts) += 1;
        group.classes.insert(job.class().to_owned());
        group.queues.insert(queue);
        let first = job.failed_at();
        // An entry keeps when it failed first, and when it came onto its queue for the last attempt; a dead one's
        // score is when it died.
        let mut counts = FailureCounts::default();
        *kind(&mut counts) += 1;
        let latest = |a: EpochSeconds, b: EpochSeconds| if b > a { b } else { a };
        let last = match counts.dead {
            0 => join(first, job.enqueued_at(), latest),
            _ => Some(score),
        };
        if let Some(last) = last {
            let hours_ago = (self.now.since(last).as_secs() / 3600) as usize;
            if let Some(hour) = group.recent.iter_mut().rev().nth(hours_ago) {
                *hour += 1;
            }
        }
        let earliest = |a: EpochSeconds, b: EpochSeconds| if b < a { b } else { a };
        group.first_seen = join(group.first_seen, first.or(last), earliest);
        group.last_seen = join(group.last_seen, last, latest);
    }

    fn finish(self) -> FailureCensus {
        let mut census = self.census;
        census.is_complete = census.searched >= census.total;
        census.groups = self.groups.into_values().collect();
        census.groups.sort_by(|a, b| {
            let last = |group: &FailureGroup| group.last_seen.map_or(0.0, EpochSeconds::as_f64);
            let names = || (&a.error_class, &a.message).cmp(&(&b.error_class, &b.message));
            last(b).total_cmp(&last(a)).then_with(names)
        });
        census
    }
}

fn join(
    a: Option<EpochSeconds>,
    b: Option<EpochSeconds>,
    choose: impl Fn(EpochSeconds, EpochSeconds) -> EpochSeconds,
) -> Option<EpochSeconds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (one, other) => one.or(other),
    }
}
