//! Pushes that are under way at the same time go together.
//!
//! A call costs both sides far more than the job in it: waking up, parsing, answering. So while as
//! many calls as are useful are under way, further pushes wait for the next one, which takes all of
//! them. A push that is alone goes at once, by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::BATCH_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::batch::{BATCH_JOBS, Ready, push_onto_queue};

/// Calls under way at a time: while Redis works on one, the next is written.
const CALLS: usize = 2;

/// After so long a push no longer waits for others' calls: Redis is slow or away, and the time that
/// a caller waits must not grow beyond that of a call.
const PATIENCE: Duration = Duration::from_millis(50);

/// So long pushes then go by themselves: waiting would be in vain again. Redis may be far away, or the calls
/// may be held by callers that do not go on with them.
const ALONE: Duration = Duration::from_millis(500);

/// What a client's pushes share.
#[derive(Debug)]
pub(crate) struct Gatherer {
    calls: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// By their numbers, rising.
    jobs: VecDeque<Gathered>,
    /// The number of the last one.
    number: u64,
    /// Until then nobody waits.
    alone_until: Option<Instant>,
}

#[derive(Debug)]
struct Gathered {
    number: u64,
    job: Ready,
    result: oneshot::Sender<Result<(), RedisError>>,
}

/// A caller's place among those that wait: with it goes its job, unless that is under way. A push that was
/// given up must not happen with somebody's next one, nor be kept until then.
struct Place<'a> {
    gatherer: &'a Gatherer,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.gatherer.take_back(self.number);
    }
}

impl Default for Gatherer {
    fn default() -> Self {
        Self { calls: Arc::new(Semaphore::new(CALLS)), waiting: Mutex::default() }
    }
}

impl Gatherer {
    /// Pushes a job that has nothing to write but itself.
    pub(crate) async fn push(self: &Arc<Self>, redis: &Redis, job: Ready) -> Result<(), RedisError> {
        // None is free while others wait.
        if let Ok(_call) = self.calls.try_acquire() {
            return push_onto_queue(redis, &job.prepared.queue, vec![job.payload]).await;
        }
        if self.is_in_vain() {
            return push_onto_queue(redis, &job.prepared.queue, vec![job.payload]).await;
        }
        let (result, mut pushed) = oneshot::channel();
        let place = self.add(job, result);
        loop {
            tokio::select! {
                biased;
                result = &mut pushed => return outcome(result),
                call = self.calls.clone().acquire_owned() => match (call, self.take()) {
                    // Not in this caller's task, and not on its runtime: a caller that gives up, or drives
                    // its runtime no longer, must not stop the others' jobs.
                    (Ok(call), jobs) if !jobs.is_empty() => {
                        redis.spawn(self.clone().send(redis.clone(), call, jobs));
                    }
                    _ => return outcome(pushed.await),
                },
                () = tokio::time::sleep(PATIENCE) => {
                    self.waiting().alone_until = Some(Instant::now() + ALONE);
                    return match self.take_back(place.number) {
                        Some(job) => push_onto_queue(redis, &job.prepared.queue, vec![job.payload]).await,
                        None => outcome(pushed.await),
                    };
                }
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a while after somebody waited in vain.
    fn is_in_vain(&self) -> bool {
        let mut waiting = self.waiting();
        let until = waiting.alone_until.filter(|until| Instant::now() < *until);
        waiting.alone_until = until;
        until.is_some()
    }

    fn add(&self, job: Ready, result: oneshot::Sender<Result<(), RedisError>>) -> Place<'_> {
        let mut waiting = self.waiting();
        waiting.number += 1;
        let number = waiting.number;
        waiting.jobs.push_back(Gathered { number, job, result });
        Place { gatherer: self, number }
    }

    /// The first of those that wait, as many as go together.
    fn take(&self) -> Vec<Gathered> {
        let mut waiting = self.waiting();
        let mut bytes = 0;
        let fits = |gathered: &&Gathered| {
            bytes += gathered.job.payload.len();
            bytes <= BATCH_BYTES
        };
        let count = waiting.jobs.iter().take(BATCH_JOBS).take_while(fits).count().max(1);
        let count = count.min(waiting.jobs.len());
        waiting.jobs.drain(..count).collect()
    }

    /// A job that is not under way yet. The number of those that wait is of no account: without Redis there
    /// may be very many, which all give up waiting.
    fn take_back(&self, number: u64) -> Option<Ready> {
        let mut waiting = self.waiting();
        let place = waiting.jobs.binary_search_by_key(&number, |gathered| gathered.number).ok()?;
        Some(waiting.jobs.remove(place)?.job)
    }

    /// Sends what waits, and what comes meanwhile, in one call after the other.
    async fn send(self: Arc<Self>, redis: Redis, call: OwnedSemaphorePermit, mut jobs: Vec<Gathered>) {
        while !jobs.is_empty() {
            send_group(&redis, jobs).await;
            jobs = self.take();
        }
        drop(call);
    }
}

/// Sends jobs, those of a queue in one command, and tells each caller.
async fn send_group(redis: &Redis, jobs: Vec<Gathered>) {
    let mut queues: Vec<(String, Vec<Gathered>)> = Vec::new();
    for gathered in jobs {
        let queue = &gathered.job.prepared.queue;
        match queues.iter_mut().find(|(known, _)| known == queue) {
            Some((_, jobs)) => jobs.push(gathered),
            None => queues.push((queue.clone(), vec![gathered])),
        }
    }
    // One queue's trouble is none of the others' callers'.
    let mut others = JoinSet::new();
    let first = queues.pop();
    for (queue, jobs) in queues {
        let redis = redis.clone();
        others.spawn(async move { send_to_queue(&redis, &queue, jobs).await });
    }
    if let Some((queue, jobs)) = first {
        send_to_queue(redis, &queue, jobs).await;
    }
    // One that ended with its runtime has told its callers so.
    while others.join_next().await.is_some() {}
}

async fn send_to_queue(redis: &Redis, queue: &str, jobs: Vec<Gathered>) {
    let (payloads, callers): (Vec<_>, Vec<_>) =
        jobs.into_iter().map(|gathered| (gathered.job.payload, gathered.result)).unzip();
    let pushed = push_onto_queue(redis, queue, payloads).await;
    for caller in callers {
        // A caller that gave up meanwhile does not hear of it.
        let _ = caller.send(pushed.clone());
    }
}

/// Without an outcome, the runtime that the call was made on has ended.
fn outcome(result: Result<Result<(), RedisError>, oneshot::error::RecvError>) -> Result<(), RedisError> {
    result.unwrap_or_else(|_| Err(RedisError::Disconnected("the runtime of the call ended".into())))
}
