use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use tokio::sync::Notify;

use crate::{FAILS_EVERY, Options, WARM_UP, Workload, report, unsupported};

/// How long a job of `numbers` takes.
const NUMBERED_JOB: Duration = Duration::from_millis(20);

/// The clocks of a workload. The handler of every peer does nothing but call [`Meter::perform`].
pub struct Meter {
    workload: Workload,
    expected: usize,
    begun: OnceLock<Instant>,
    done: AtomicUsize,
    reruns: AtomicUsize,
    seen: Vec<AtomicBool>,
    starts: Vec<OnceLock<(Instant, SystemTime)>>,
    finished: OnceLock<Instant>,
    all_done: Notify,
    numbers: Option<Mutex<File>>,
}

impl Meter {
    /// The clocks of the workload of these options.
    ///
    /// # Errors
    ///
    /// When the file of `numbers` cannot be opened.
    pub fn new(options: &Options) -> io::Result<Arc<Self>> {
        let (expected, numbered) = match options.workload {
            Workload::Pickup => (options.jobs + WARM_UP, options.jobs + WARM_UP),
            Workload::DelayedLate | Workload::DrainFail => (options.jobs, options.jobs),
            Workload::Idle | Workload::Numbers => (usize::MAX, 0),
            _ => (options.jobs, 0),
        };
        let numbers = match &options.file {
            Some(path) => Some(Mutex::new(File::options().create(true).append(true).open(path)?)),
            None => None,
        };
        Ok(Arc::new(Self {
            workload: options.workload,
            expected,
            begun: OnceLock::new(),
            done: AtomicUsize::new(0),
            reruns: AtomicUsize::new(0),
            seen: (0..numbered).map(|_| AtomicBool::new(false)).collect(),
            starts: (0..numbered).map(|_| OnceLock::new()).collect(),
            finished: OnceLock::new(),
            all_done: Notify::new(),
            numbers,
        }))
    }

    /// What a job does: all the work of its handler.
    ///
    /// # Errors
    ///
    /// For every fifth job of `drain_fail`, and when the file of `numbers` cannot be written.
    pub async fn perform(&self, number: u64) -> Result<(), io::Error> {
        match self.workload {
            Workload::Pickup | Workload::DelayedLate => {
                let number = number as usize;
                if let Some(start) = self.starts.get(number) {
                    let _ = start.set((Instant::now(), SystemTime::now()));
                }
                self.count(number);
                Ok(())
            }
            Workload::DrainFail => {
                self.begun.get_or_init(Instant::now);
                self.count(number as usize);
                if number.is_multiple_of(FAILS_EVERY) {
                    Err(io::Error::other("it fails on purpose"))
                } else {
                    Ok(())
                }
            }
            Workload::Numbers => {
                tokio::time::sleep(NUMBERED_JOB).await;
                match self.numbers.as_ref().map(Mutex::lock) {
                    // One write of one line, so that a kill leaves no half number.
                    Some(Ok(mut file)) => file.write_all(format!("{number}\n").as_bytes()),
                    _ => Err(io::Error::other("numbers needs --file")),
                }
            }
            _ => {
                self.begun.get_or_init(Instant::now);
                self.add_one();
                Ok(())
            }
        }
    }

    /// Counts the first run of each job; further ones are counted apart.
    fn count(&self, number: usize) {
        match self.seen.get(number) {
            Some(seen) if !seen.swap(true, Ordering::Relaxed) => self.add_one(),
            _ => {
                self.reruns.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn add_one(&self) {
        if self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.expected {
            let _ = self.finished.set(Instant::now());
            self.all_done.notify_one();
        }
    }

    /// Waits for the last job, at most for `limit`; whether it ran.
    pub async fn wait(&self, limit: Duration) -> bool {
        self.finished.get().is_some() || tokio::time::timeout(limit, self.all_done.notified()).await.is_ok()
    }

    /// Waits for the last job, and prints the time from the start of the first one to its end.
    /// Of a drain that is not over in time, what it came to so far: that is a rate all the same.
    pub async fn report_drain(&self, limit: Duration) {
        self.wait(limit).await;
        let now = Instant::now();
        let begun = self.begun.get().copied().unwrap_or(now);
        self.report_time(self.finished.get().copied().unwrap_or(now) - begun);
    }

    /// Waits for the last job, and prints the time from `since` to its end.
    pub async fn report_time_since(&self, since: Instant, limit: Duration) {
        self.wait(limit).await;
        match self.finished.get() {
            Some(ended) => self.report_time(*ended - since),
            None => self.report_unfinished(limit),
        }
    }

    fn report_time(&self, time: Duration) {
        let done = self.done.load(Ordering::Acquire).min(self.expected);
        let mut result = json!({ "seconds": time.as_secs_f64(), "jobs": done });
        if done < self.expected {
            result["unfinished"] = (self.expected - done).into();
        }
        let reruns = self.reruns.load(Ordering::Relaxed);
        if reruns > 0 {
            result["reruns"] = reruns.into();
        }
        report(&result);
    }

    /// A figure about all jobs cannot be had from a part of them.
    fn report_unfinished(&self, limit: Duration) {
        let (done, expected, limit) = (self.done.load(Ordering::Acquire), self.expected, limit.as_secs());
        unsupported(&format!("only {done} of {expected} jobs had run after {limit} s"));
    }

    /// Waits for the last pick-up, and prints how long they took from their pushes.
    pub async fn report_pick_ups(&self, pushed: &[Instant], limit: Duration) {
        if !self.wait(limit).await {
            return self.report_unfinished(limit);
        }
        let starts = self.starts.iter().filter_map(OnceLock::get);
        let times = pushed.iter().zip(starts).skip(WARM_UP);
        report_latency(
            times.map(|(pushed, (start, _))| start.saturating_duration_since(*pushed).as_secs_f64()),
        );
    }

    /// Waits for the last delayed job, and prints how late they started.
    pub async fn report_lateness(&self, due: &[SystemTime], limit: Duration) {
        if !self.wait(limit).await {
            return self.report_unfinished(limit);
        }
        let starts = self.starts.iter().filter_map(OnceLock::get);
        report_latency(due.iter().zip(starts).map(|(due, (_, start))| match start.duration_since(*due) {
            Ok(late) => late.as_secs_f64(),
            // Too early, which is worth seeing.
            Err(early) => -early.duration().as_secs_f64(),
        }));
    }
}

fn report_latency(seconds: impl Iterator<Item = f64>) {
    let (p50, p99) = percentiles(seconds.collect());
    report(&json!({ "p50_ms": p50 * 1e3, "p99_ms": p99 * 1e3 }));
}

/// The median and the 99th percentile (nearest rank).
#[must_use]
pub fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (values.len() as f64 * share).ceil() as usize;
        values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    (at(0.5), at(0.99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let values = (1..=400).rev().map(f64::from).collect();
        assert_eq!(percentiles(values), (200.0, 396.0));
    }
}
