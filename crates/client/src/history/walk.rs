//! Reading records one slice after the other while others are written and trimmed.

use std::cmp::Ordering;

use bytes::Bytes;
use cogworker_core::keys::Key;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts;
use cogworker_core::time::EpochSeconds;

use super::Direction;

/// So many records are read at a time: of the largest that is some megabytes.
pub(super) const SLICE: u64 = 200;

/// A way through the records in the order of their ends: none comes twice, and none is left out that was
/// there all the time. Ranks move between two reads, so what was seen goes by score and member.
pub(super) struct Walk<'a> {
    redis: &'a Redis,
    key: Key,
    direction: Direction,
    /// Where the next slice begins, as the records stood when the last one was read.
    rank: u64,
    last: Option<(EpochSeconds, Bytes)>,
}

/// The next records.
pub(super) struct Step {
    /// How many records there are in all.
    pub(super) total: u64,
    pub(super) records: Vec<Bytes>,
    /// True when there are none behind these.
    pub(super) is_last: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(redis: &'a Redis, key: Key, direction: Direction, start: u64) -> Self {
        Self { redis, key, direction, rank: start, last: None }
    }

    /// At most `wanted` records more, up to [`SLICE`]; there may be fewer, or none, before the last ones.
    pub(super) async fn next(&mut self, wanted: u64) -> Result<Step, RedisError> {
        let wanted = wanted.min(SLICE);
        loop {
            // The last one is read again: if it is there, or one before it, then nothing was left out.
            // And always a whole slice, which moves on faster than any fleet writes.
            let (from, count) = match &self.last {
                Some(_) => (self.rank.saturating_sub(1), SLICE + 1),
                None => (self.rank, wanted),
            };
            let newest_first = self.direction == Direction::Descending;
            let page = scripts::page_set(self.redis, self.key.clone(), from, count, newest_first).await?;
            let seen = page.entries.iter().take_while(|entry| !self.is_new(entry)).count() as u64;
            if self.last.is_some() && seen == 0 && from > 0 {
                // Records before it were trimmed, and the others have moved up.
                self.rank = self.rank.saturating_sub(SLICE).min(page.total);
                continue;
            }
            let read = page.entries.len() as u64;
            let is_last = read < count && read <= seen + wanted;
            let new: Vec<_> = page.entries.into_iter().skip(seen as usize).take(wanted as usize).collect();
            self.rank = from + seen + new.len() as u64;
            if let Some((raw, score)) = new.last() {
                self.last = Some((*score, raw.clone()));
            }
            let records = new.into_iter().map(|(raw, _)| raw).collect();
            return Ok(Step { total: page.total, records, is_last });
        }
    }

    /// True for a record behind those that were seen.
    fn is_new(&self, (raw, score): &(Bytes, EpochSeconds)) -> bool {
        let Some((last_score, last)) = &self.last else { return true };
        let order = score.as_f64().total_cmp(&last_score.as_f64()).then_with(|| raw.cmp(last));
        match self.direction {
            Direction::Ascending => order == Ordering::Greater,
            Direction::Descending => order == Ordering::Less,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use cogworker_core::redis_config::RedisConfig;
    use cogworker_testing::TestRedis;

    use super::*;

    /// Records named after their scores, such as `r0007`.
    fn write(redis: &TestRedis, scores: std::ops::Range<u32>) {
        for at in scores {
            redis.cli(&["ZADD", "history", &at.to_string(), &format!("r{at:04}")]);
        }
    }

    async fn step(walk: &mut Walk<'_>, wanted: u64) -> Result<(String, usize, bool), RedisError> {
        let step = walk.next(wanted).await?;
        let first = step.records.first().map(|raw| String::from_utf8_lossy(raw).into_owned());
        Ok((first.unwrap_or_default(), step.records.len(), step.is_last))
    }

    #[tokio::test]
    async fn what_is_written_and_trimmed_between_two_slices_neither_repeats_nor_hides_a_record()
    -> Result<(), Box<dyn Error>> {
        let server = TestRedis::start()?;
        let redis = Redis::connect(&RedisConfig::new(&server.url())?).await?;
        write(&server, 0..1000);
        let mut newest = Walk::new(&redis, "history".into(), Direction::Descending, 10);
        let mut oldest = Walk::new(&redis, "history".into(), Direction::Ascending, 10);
        assert_eq!(step(&mut newest, 500).await?, ("r0989".into(), 200, false));
        assert_eq!(step(&mut oldest, 500).await?, ("r0010".into(), 200, false));
        write(&server, 1000..1030);
        server.cli(&["ZREMRANGEBYRANK", "history", "0", "29"]);
        assert_eq!(step(&mut newest, 100).await?, ("r0789".into(), 100, false));
        assert_eq!(step(&mut oldest, 100).await?, ("r0210".into(), 30, false));
        assert_eq!(step(&mut oldest, 100).await?, ("r0240".into(), 100, false));
        // One that is entered late, before what was seen, and all that was seen trimmed.
        server.cli(&["ZADD", "history", "995", "late"]);
        server.cli(&["ZREMRANGEBYSCORE", "history", "0", "399"]);
        assert_eq!(step(&mut newest, 200).await?, ("r0689".into(), 199, false));
        assert_eq!(step(&mut oldest, 200).await?, ("r0400".into(), 200, false));
        assert_eq!(step(&mut newest, 200).await?, ("r0490".into(), 91, true));
        server.cli(&["DEL", "history"]);
        assert_eq!(step(&mut oldest, 200).await?, (String::new(), 0, true));
        Ok(())
    }

    #[tokio::test]
    async fn records_of_one_moment_are_told_apart() -> Result<(), Box<dyn Error>> {
        let server = TestRedis::start()?;
        let redis = Redis::connect(&RedisConfig::new(&server.url())?).await?;
        for name in ["a", "b", "c", "d"] {
            server.cli(&["ZADD", "history", "5", name]);
        }
        let mut newest = Walk::new(&redis, "history".into(), Direction::Descending, 0);
        assert_eq!(step(&mut newest, 2).await?, ("d".into(), 2, false));
        server.cli(&["ZADD", "history", "5", "e"]);
        assert_eq!(step(&mut newest, 2).await?, ("b".into(), 2, true));
        Ok(())
    }
}
