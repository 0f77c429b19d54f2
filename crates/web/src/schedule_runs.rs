//! The last run of each periodic entry, as far as the newest part of the history tells: read for all pages
//! together, at most every few seconds.
//!
//! A run does not say which entry it came from; its class and args do.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::formats::{Run, RunStatus};
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;
use tokio::sync::Mutex;

const FRESH: Duration = Duration::from_secs(5);
/// So many of the newest runs are looked at.
pub(crate) const LOOKED_AT: usize = 1000;

/// How a run went.
#[derive(Debug, Clone)]
pub(crate) struct LastRun {
    pub(crate) failed: bool,
    pub(crate) finished_at: EpochSeconds,
    pub(crate) duration: Duration,
    pub(crate) queue: String,
    pub(crate) error_class: String,
}

/// By class and args.
pub(crate) type LastRuns = HashMap<(String, String), LastRun>;

#[derive(Default)]
pub(crate) struct ScheduleRuns(Mutex<Option<(Instant, Arc<LastRuns>)>>);

impl ScheduleRuns {
    pub(crate) async fn get(&self, client: &Client) -> Result<Arc<LastRuns>, RedisError> {
        let mut newest = self.0.lock().await;
        if let Some((at, runs)) = newest.as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(runs.clone());
        }
        let page = client.history().page(None, 0, LOOKED_AT).await?;
        let mut runs = LastRuns::new();
        for run in page.runs {
            // The newest comes first.
            runs.entry((run.class.clone(), run.args.get().to_owned())).or_insert_with(|| LastRun::new(run));
        }
        let runs = Arc::new(runs);
        *newest = Some((Instant::now(), runs.clone()));
        Ok(runs)
    }
}

impl LastRun {
    fn new(run: Run) -> Self {
        Self {
            failed: run.status == RunStatus::Failed,
            finished_at: run.finished_at,
            duration: Duration::from_millis(run.duration_ms().max(0.0) as u64),
            error_class: run.error_class.unwrap_or_default(),
            queue: run.queue,
        }
    }
}
