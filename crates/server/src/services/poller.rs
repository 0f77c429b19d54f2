//! Puts jobs on their queues when they are due: from schedule, and from retry.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use cogworker_core::raw_job::{NotAJob, RawJob};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, BATCH_LIMIT, Moves, Step};
use cogworker_core::time::EpochSeconds;
use cogworker_core::{payload_edit, unparseable};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::engine::Gauges;
use crate::outage::Outage;

/// The longest sleep: a job that a process without wake-ups schedules is at most so late (SCHED-11).
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// An entry that cannot be moved comes again after so long (SCHED-08).
const POSTPONED: Duration = Duration::from_secs(60);
/// The pause after an error.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Poller {
    pub(crate) redis: Redis,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
    /// Something may be due earlier than is known.
    pub(crate) wake: Arc<Notify>,
}

impl Poller {
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            // Pollers of many processes must not all come at the same moment; the winner moves
            // the jobs, so a few milliseconds apart is enough.
            let sleep = if self.gauges.quiet.load(Ordering::Relaxed) {
                LONGEST_SLEEP
            } else {
                self.pass().await + Duration::from_millis(fastrand::u64(0..8))
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Moves everything that is due; how long to sleep after it.
    async fn pass(&self) -> Duration {
        let keys = self.redis.keys();
        let mut sleep = LONGEST_SLEEP;
        let sets = [("polling the schedule", keys.schedule()), ("polling the retries", keys.retry())];
        for (place, source) in sets {
            // One set that cannot be read does not keep the other from being polled (SCHED-07).
            match self.drain(&source).await {
                Ok(next) => {
                    self.outage.recovered(place);
                    if let Some(next) = next {
                        sleep = sleep.min(next.since(EpochSeconds::now()));
                    }
                }
                Err(failure) => {
                    self.outage.report(place, &failure);
                    sleep = sleep.min(ERROR_PAUSE);
                }
            }
        }
        sleep
    }

    /// Moves every due entry of one set; when the next one is due.
    async fn drain(&self, source: &str) -> Result<Option<EpochSeconds>, RedisError> {
        loop {
            let now = EpochSeconds::now();
            let due = scripts::due_jobs(&self.redis, source.to_owned(), now, BATCH_LIMIT).await?;
            if due.entries.is_empty() {
                return Ok(due.next);
            }
            let full = due.entries.len() == BATCH_LIMIT;
            self.move_on(source, due.entries, now).await?;
            if !full {
                // What came due meanwhile is found by the next pass, at once.
                return Ok(due.next);
            }
        }
    }

    async fn move_on(&self, source: &str, entries: Vec<Bytes>, now: EpochSeconds) -> Result<(), RedisError> {
        let mut moves = Moves::new(source.to_owned(), Some(now.plus(POSTPONED)));
        for entry in &entries {
            let placed = RawJob::parse(entry).and_then(|job| match job.queue() {
                Some(queue) => {
                    let payload = payload_edit::stamp_enqueued_at(entry, now)?;
                    moves.to_queue(entry.clone(), payload, queue);
                    Ok(())
                }
                None => Err(NotAJob::NotJson("the job names no queue".into())),
            });
            if let Err(reason) = placed {
                error!("buried an entry that can never run: {reason}");
                let wrapped = unparseable::wrap(entry, None, &reason, now);
                moves.to_dead(entry.clone(), wrapped, now);
            }
        }
        let moved = scripts::move_entries(&self.redis, moves).await?;
        let refused = moved.steps.iter().filter(|step| **step == Step::Failed).count();
        if let Some(failure) = moved.error {
            warn!("postponed {refused} due jobs by {} s: failed to {failure}", POSTPONED.as_secs());
        }
        Ok(())
    }
}
