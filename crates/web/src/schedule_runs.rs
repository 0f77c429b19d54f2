//! The last run of each periodic entry, as far as the newest part of the history tells: read for all pages
//! together, at most every few seconds.
//!
//! A run does not say which entry it came from; its class and args do.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cogworker_client::{Client, PeriodicJob};
use cogworker_core::cron::Cron;
use cogworker_core::formats::{EndedRun, RunStatus};
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;

use crate::kept::Kept;

const FRESH: Duration = Duration::from_secs(5);
/// So many of the newest runs are looked at.
pub(crate) const LOOKED_AT: u64 = 1000;

/// How a run went.
#[derive(Debug, Clone)]
pub(crate) struct LastRun {
    pub(crate) failed: bool,
    pub(crate) finished_at: EpochSeconds,
    pub(crate) duration: Duration,
    pub(crate) queue: String,
    pub(crate) error_class: String,
}

/// How the periodic entries went.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastRuns {
    /// By class and args.
    runs: HashMap<(String, String), LastRun>,
    /// Entries whose last run failed.
    pub(crate) failed: Vec<(String, LastRun)>,
    /// Entries whose last slot nobody fired, and when that was.
    pub(crate) missed: Vec<(String, EpochSeconds)>,
}

/// A slot is fired within moments; one that waits for the entry's last run is given up after 15 s.
const LATE: f64 = 60.0;

impl LastRuns {
    pub(crate) fn of(&self, job: &PeriodicJob) -> Option<&LastRun> {
        self.runs.get(&(job.class.clone(), job.args.clone()))
    }

    fn judge(&mut self, jobs: &[PeriodicJob], now: EpochSeconds) {
        for job in jobs.iter().filter(|job| !job.disabled) {
            if let Some(run) = self.of(job).filter(|run| run.failed).cloned() {
                self.failed.push((job.class.clone(), run));
            }
            // One that was never seen may be new; one that is held waits for its run.
            let (Some(last), None) = (job.last_slot, &job.running) else { continue };
            let slot = Cron::parse(&job.cron).ok().and_then(|cron| cron.previous(now));
            let slot = slot.map(|slot| EpochSeconds::new(slot as f64));
            if let Some(slot) = slot.filter(|slot| *slot > last && now.as_f64() - slot.as_f64() > LATE) {
                self.missed.push((job.class.clone(), slot));
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct ScheduleRuns(Kept<LastRuns>);

impl ScheduleRuns {
    pub(crate) async fn get(&self, client: &Client) -> Result<Arc<LastRuns>, RedisError> {
        self.0.get(FRESH, read(client)).await
    }
}

async fn read(client: &Client) -> Result<LastRuns, RedisError> {
    let history = client.history();
    let periodic = client.periodic();
    let published = periodic.list().await?;
    let mut last = LastRuns::default();
    if !published.jobs.is_empty() {
        for run in history.page(None, 0, LOOKED_AT).await?.runs {
            // The newest comes first.
            let job = (run.class.clone(), run.args.get().to_owned());
            last.runs.entry(job).or_insert_with(|| LastRun::new(run));
        }
    }
    last.judge(&published.jobs, EpochSeconds::now());
    Ok(last)
}

impl LastRun {
    fn new(run: EndedRun) -> Self {
        Self {
            failed: run.status == RunStatus::Failed,
            finished_at: run.finished_at,
            duration: Duration::from_millis(run.duration_ms().max(0.0) as u64),
            error_class: run.error_class.unwrap_or_default(),
            queue: run.queue,
        }
    }
}
