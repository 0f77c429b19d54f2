//! Puts jobs on their queues when they are due: from schedule, and from retry.

mod last_poll;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_core::raw_job::{NotAJobError, RawJob};
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_BYTES, BATCH_LIMIT, Moves, Step};
use cogworker_core::time::EpochSeconds;
use cogworker_core::{payload_edit, unparseable};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

pub(crate) use self::last_poll::LastPoll;
use super::line::Line;
use super::uncounted::Uncounted;
use crate::counted::counted;
use crate::engine::Gauges;
use crate::outage::Outage;

/// The longest sleep: a job that a process without wake-ups schedules is at most so late (SCHED-11).
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// An entry that cannot be moved comes again after so long (SCHED-08).
const POSTPONED: Duration = Duration::from_secs(60);
/// How long a set is left alone after an error.
const ERROR_PAUSE: Duration = Duration::from_secs(1);
/// How far apart the pollers of two processes should come: about as long as one takes to move a job.
const JITTER_PER_PROCESS: Duration = Duration::from_millis(2);
/// The most that the jitter alone adds.
const LONGEST_JITTER: Duration = Duration::from_millis(40);
/// All processes together look about every so often at most, however many they are: each alone would
/// look at every due time, for nothing but once. Until those that crashed are counted no longer, the ones left
/// look at their old pace: of 1000 processes a lone one moves a job up to 3.75 s late.
const FLEET_PACE: Duration = Duration::from_micros(2_500);
const COUNTING: &str = "counting failures";

#[derive(Clone)]
pub(crate) struct Poller {
    pub(crate) line: Line,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
    /// Something may be due earlier than is known.
    pub(crate) wake: Arc<Notify>,
    pub(crate) uncounted: Arc<Uncounted>,
    pub(crate) last_poll: Arc<LastPoll>,
}

/// A sorted set of jobs that are due later.
struct Schedule {
    /// What reading it is called in the log.
    place: &'static str,
    key: String,
    not_before: Instant,
}

enum Drained {
    /// Nothing is due any more; when the next entry will be.
    Empty { next: Option<EpochSeconds> },
    /// The same entries would be read again.
    Stuck,
}

impl Poller {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let keys = self.line.keys();
        let schedule = |place, key| Schedule { place, key, not_before: Instant::now() };
        let mut schedules = [
            schedule("polling the schedule", keys.schedule()),
            schedule("polling the retries", keys.retry()),
        ];
        loop {
            // A move that is cut off here is carried out whole or not at all.
            let sleep = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                sleep = self.pass(&mut schedules) => sleep,
            };
            // Not cut off by a stop: what becomes of a count that is cut off is not known.
            if let Err(failure) = self.uncounted.catch_up(&self.line).await {
                self.outage.report(COUNTING, &failure);
            } else {
                self.outage.recovered(COUNTING);
            }
            let processes = self.gauges.processes.load(Ordering::Relaxed);
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.rest(sleep, processes) => {}
            }
        }
    }

    /// Until something may be due, and it is this process's turn to look again.
    async fn rest(&self, sleep: Duration, processes: usize) {
        let pause = pause(processes);
        tokio::time::sleep(pause).await;
        tokio::select! {
            () = self.wake.notified() => tokio::time::sleep(jitter(processes)).await,
            () = tokio::time::sleep((sleep + jitter(processes)).saturating_sub(pause)) => {}
        }
    }

    /// Moves everything that is due; how long to sleep after it.
    async fn pass(&self, schedules: &mut [Schedule]) -> Duration {
        let mut sleep = LONGEST_SLEEP;
        self.last_poll.mark();
        if self.is_quiet() {
            return sleep;
        }
        for schedule in schedules {
            // One set that cannot be read does not keep the other from being polled (SCHED-07), nor
            // do wake-ups and due times of the other have it read again and again.
            if let Some(pause) = schedule.not_before.checked_duration_since(Instant::now()) {
                sleep = sleep.min(pause);
                continue;
            }
            let drained = self.drain(schedule.place, &schedule.key).await;
            if drained.is_ok() {
                self.outage.recovered(schedule.place);
            }
            match drained {
                Ok(Drained::Empty { next: None }) => {}
                Ok(Drained::Empty { next: Some(next) }) => {
                    sleep = sleep.min(next.since(EpochSeconds::now()));
                }
                Ok(Drained::Stuck) => {
                    schedule.not_before = Instant::now() + ERROR_PAUSE;
                    sleep = sleep.min(ERROR_PAUSE);
                }
                Err(failure) => {
                    self.outage.report(schedule.place, &failure);
                    schedule.not_before = Instant::now() + ERROR_PAUSE;
                    sleep = sleep.min(ERROR_PAUSE);
                }
            }
        }
        sleep
    }

    /// Moves every due entry of one set, unless the process becomes quiet meanwhile (SCHED-10).
    async fn drain(&self, place: &'static str, source: &str) -> Result<Drained, RedisError> {
        while !self.is_quiet() {
            let now = EpochSeconds::now();
            let due = self.line.call(place, |redis| {
                scripts::due_jobs(redis, source.to_owned(), now, BATCH_LIMIT, BATCH_BYTES)
            });
            let due = due.await;
            self.last_poll.mark();
            let due = due?;
            if !due.entries.is_empty() && !self.move_on(source, &due.entries, now).await? {
                return Ok(Drained::Stuck);
            }
            if !due.more {
                // What came due meanwhile is found by the next pass, at once.
                return Ok(Drained::Empty { next: due.next });
            }
        }
        Ok(Drained::Empty { next: None })
    }

    fn is_quiet(&self) -> bool {
        self.gauges.quiet.load(Ordering::Relaxed)
    }

    /// False when every entry was refused by its destination.
    async fn move_on(&self, source: &str, entries: &[Bytes], now: EpochSeconds) -> Result<bool, RedisError> {
        let mut moves = Moves::new(source.to_owned(), Some(now.plus(POSTPONED)));
        let mut unusable = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let placed = RawJob::parse(entry).and_then(|job| match job.queue() {
                Some(queue) => {
                    let payload = payload_edit::stamp_enqueued_at(entry, now)?;
                    moves.to_queue(entry.clone(), payload, queue);
                    Ok(())
                }
                None => Err(NotAJobError::NotJson("the job names no queue".into())),
            });
            if let Err(reason) = placed {
                let wrapped = unparseable::wrap(entry, None, &reason, now);
                moves.to_dead(entry.clone(), wrapped, now);
                unusable.push((at, reason));
            }
        }
        let moved = self.line.call("moving due jobs", |redis| scripts::move_entries(redis, moves)).await;
        self.last_poll.mark();
        let moved = moved?;
        self.uncounted.note(moved.count);
        for (at, reason) in unusable {
            if moved.steps.get(at) == Some(&Step::Applied) {
                error!("buried an entry that can never run: {reason}");
            }
        }
        let refused = moved.steps.iter().filter(|step| **step == Step::Failed).count();
        match moved.error {
            Some(failure) if failure.is_outage() => return Err(failure),
            Some(failure) if moved.postponed == refused => {
                let (refused, seconds) = (counted(refused, "due job", "due jobs"), POSTPONED.as_secs());
                warn!("postponed {refused} by {seconds} s: failed to {failure}");
            }
            Some(failure) => {
                let refused = counted(refused, "due job where it is", "due jobs where they are");
                warn!("left {refused}: failed to {failure}");
            }
            None => {}
        }
        Ok(refused < entries.len())
    }
}

/// The pollers of many processes must not all come at the same moment: one moves the jobs, and the
/// others would read them for nothing.
fn jitter(processes: usize) -> Duration {
    let processes = u32::try_from(processes.max(1)).unwrap_or(u32::MAX);
    JITTER_PER_PROCESS.saturating_mul(processes).min(LONGEST_JITTER).mul_f64(fastrand::f64())
}

/// At random around its mean, so that the looks of all processes are spread over the time.
fn pause(processes: usize) -> Duration {
    let processes = u32::try_from(processes.max(1)).unwrap_or(u32::MAX);
    FLEET_PACE.saturating_mul(processes).mul_f64(0.5 + fastrand::f64()).min(LONGEST_SLEEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processes_together_look_at_one_pace_however_many_they_are() {
        for processes in [1, 10, 1000] {
            let mean = (0..2000).map(|_| pause(processes)).sum::<Duration>() / 2000;
            let pace = mean.as_secs_f64() / processes as f64;
            assert!((pace / FLEET_PACE.as_secs_f64() - 1.0).abs() < 0.1, "{processes}: {pace} s");
        }
        assert!((0..2000).all(|_| pause(usize::MAX) <= LONGEST_SLEEP));
        assert_eq!((pause(0) > FLEET_PACE * 2, pause(0) < FLEET_PACE / 4), (false, false), "as if alone");
    }

    #[test]
    fn the_jitter_grows_with_the_number_of_processes_up_to_40_ms() {
        for (processes, most) in [(0, 2), (1, 2), (4, 8), (20, 40), (usize::MAX, 40)] {
            let longest = (0..2000).map(|_| jitter(processes)).max().unwrap_or_default();
            let most = Duration::from_millis(most);
            assert!(longest <= most && longest > most.mul_f64(0.8), "{processes}: {longest:?}");
        }
    }
}
