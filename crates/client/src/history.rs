//! The history: every run that ended, where the workers keep one.
//!
//! A page of it is read straight from Redis. A search reads the newest [`SEARCH_LIMIT`] records, by
//! job the newest [`JID_SEARCH_LIMIT`], and says when there were more ([`RunPage::is_complete`]).

mod condition;
mod query;
mod selection;
mod walk;

use std::collections::HashSet;

use bytes::Bytes;
use cogworker_core::formats::{EndedRun, RunStatus};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts;
use cogworker_core::time::{EpochSeconds, utc_day};

use crate::Client;
pub use condition::{Column, Condition};
pub use query::{Direction, HistoryQuery};
use selection::Selection;
use walk::{SLICE, Walk};

/// A search looks at so many of the newest records. They may be large, with args and backtraces, so this is
/// what a page of a web UI can wait for.
pub const SEARCH_LIMIT: u64 = 10_000;

/// A search by job looks at so many: Redis does it without sending them.
pub const JID_SEARCH_LIMIT: u64 = 100_000;

/// The most runs one page has (WEBH-11).
pub const RUNS_PER_PAGE: u64 = 1000;

/// No history is longer; further on, Lua's numbers are no longer exact.
const LAST_START: u64 = 1 << 30;

/// The most days [`History::daily`] goes back.
const MOST_DAYS: u64 = 1000;

/// The runs that ended.
#[derive(Debug, Clone)]
pub struct History {
    redis: Redis,
}

/// A page of runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunPage {
    /// How many runs there are; of a search, how many were found.
    pub total: u64,
    /// The runs of this page. Records that cannot be read are left out.
    pub runs: Vec<EndedRun>,
    /// False when a search did not look at all records, but only at the newest.
    pub is_complete: bool,
}

/// The runs of one UTC day (HIST-07).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DayCount {
    /// Such as `2026-11-30`.
    pub day: String,
    /// Successful runs.
    pub success: u64,
    /// Failed runs.
    pub failed: u64,
}

impl DayCount {
    /// So many runs on a day.
    #[doc(hidden)]
    pub fn new(day: String, success: u64, failed: u64) -> Self {
        Self { day, success, failed }
    }
}

impl Client {
    /// The history.
    pub fn history(&self) -> History {
        History { redis: self.redis().clone() }
    }
}

impl History {
    fn key(&self, status: Option<RunStatus>) -> String {
        let keys = self.redis.keys();
        match status {
            Some(RunStatus::Success) => keys.history_success(),
            Some(RunStatus::Failed) => keys.history_failed(),
            _ => keys.history_all(),
        }
    }

    /// The runs from `start` on, at most `count` (up to 1,000), the newest first; all of them, or those that
    /// ended with `status` (HIST-03, HIST-04).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn page(
        &self,
        status: Option<RunStatus>,
        start: u64,
        count: u64,
    ) -> Result<RunPage, RedisError> {
        self.slice(status, start, count, Direction::Descending).await
    }

    async fn slice(
        &self,
        status: Option<RunStatus>,
        start: u64,
        count: u64,
        direction: Direction,
    ) -> Result<RunPage, RedisError> {
        let (start, count) = (start.min(LAST_START), count.min(RUNS_PER_PAGE));
        let mut walk = Walk::new(&self.redis, self.key(status), direction, start);
        let mut runs = Vec::new();
        let mut read = 0;
        loop {
            let step = walk.next(count - read).await?;
            read += step.records.len() as u64;
            runs.extend(step.records.iter().filter_map(|record| EndedRun::parse(record)));
            if step.is_last || read == count {
                return Ok(RunPage { total: step.total, runs, is_complete: true });
            }
        }
    }

    /// Runs by any criteria, in any order (WEBH-08, WEBH-09, WEBH-12).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn find(&self, query: &HistoryQuery) -> Result<RunPage, RedisError> {
        if let Some(direction) = query.plain_direction() {
            return self.slice(query.status, query.start, query.count, direction).await;
        }
        let mut selection = Selection::new(query);
        let is_complete = match &query.jid {
            Some(jid) => self.search_by_jid(query, jid, |run| selection.offer(run)).await?,
            None => self.search(query, |run| selection.offer(run)).await?,
        };
        let (total, runs) = selection.finish();
        Ok(RunPage { total, runs, is_complete })
    }

    /// The runs of one job, the newest first, at most 1,000.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn by_jid(&self, jid: impl AsRef<str>) -> Result<RunPage, RedisError> {
        self.find(&HistoryQuery::new().jid(jid).range(0, RUNS_PER_PAGE)).await
    }

    /// The counts of the last `days` UTC days (at most 1,000), today included, the oldest first. A day on
    /// which nothing ran is left out.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn daily(&self, days: u64) -> Result<Vec<DayCount>, RedisError> {
        let now = EpochSeconds::now().as_f64();
        let day = |ago: u64| utc_day(EpochSeconds::new(now - ago as f64 * 86_400.0));
        let days: Vec<String> = (0..days.clamp(1, MOST_DAYS)).rev().map(day).collect();
        let keys = days.iter().map(|day| self.redis.keys().history_daily(day)).collect();
        let counts = scripts::list_hashes(&self.redis, keys).await?;
        let days = days.into_iter().zip(counts).filter(|(_, fields)| !fields.is_empty());
        Ok(days
            .map(|(day, fields)| {
                let count = |name: &str| {
                    let value = fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
                    value.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok()).unwrap_or(0)
                };
                DayCount { success: count("success"), failed: count("failed"), day }
            })
            .collect())
    }

    /// Offers the newest records, the newest first; true when those were all.
    async fn search(
        &self,
        query: &HistoryQuery,
        mut offer: impl FnMut(EndedRun),
    ) -> Result<bool, RedisError> {
        let mut walk = Walk::new(&self.redis, self.key(query.status), Direction::Descending, 0);
        let mut read = 0;
        loop {
            let step = walk.next(SLICE).await?;
            read += step.records.len() as u64;
            for record in &step.records {
                if let Some(run) = EndedRun::parse(record) {
                    offer(run);
                }
            }
            if step.is_last {
                return Ok(true);
            }
            if read >= query.limit(SEARCH_LIMIT) {
                return Ok(read >= step.total);
            }
        }
    }

    async fn search_by_jid(
        &self,
        query: &HistoryQuery,
        jid: &str,
        mut offer: impl FnMut(EndedRun),
    ) -> Result<bool, RedisError> {
        // The jid as it stands in a record; args may hold the same text, so each record is looked at.
        let text = serde_json::Value::from(jid).to_string();
        let mut read = 0;
        let mut seen: HashSet<Bytes> = HashSet::new();
        loop {
            let found = scripts::find_runs(&self.redis, self.key(query.status), read, &text).await?;
            for record in found.records {
                let run = EndedRun::parse(&record).filter(|run| run.jid == jid);
                if let Some(run) = run
                    && seen.insert(record)
                {
                    offer(run);
                }
            }
            read += found.searched;
            if found.searched == 0 || read >= found.total {
                return Ok(true);
            }
            if read >= query.limit(JID_SEARCH_LIMIT) {
                return Ok(false);
            }
        }
    }
}
