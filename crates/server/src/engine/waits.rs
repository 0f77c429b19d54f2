//! Waiting for the next job: one blocking move for each idle queue.
//!
//! A wait moves its job straight onto the in-progress list, so nothing is lost between Redis and
//! us, and a new job is picked up without polling. Each wait has a connection of its own and a
//! task that owns it; the engine arms and disarms it and hears what came.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cogworker_core::redis::{Redis, RedisError, Waited, Waiter};
use cogworker_core::scripts::Held;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use super::pulse::Pulse;
use super::within::within;
use crate::health::HealthLimits;

/// The most queues waited on; the others are looked at in turn. A connection costs about 50 kB.
pub(crate) const MOST_WAITS: usize = 32;

/// The end of one armed wait.
#[derive(Debug)]
pub(crate) struct WaitEnd {
    /// Index of the queue.
    pub(crate) queue: usize,
    /// How the job is held.
    pub(crate) held: Held,
    /// When the call that brought it was sent.
    pub(crate) begun: Instant,
    /// A job, or nothing when it was disarmed.
    pub(crate) result: Result<Option<Waited>, RedisError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Armed,
    Disarming,
}

struct Wait {
    state: State,
    task: Arc<WaitTask>,
    run: JoinHandle<()>,
}

/// The waits of a process, by queue.
pub(crate) struct Waits {
    waits: Vec<Wait>,
    /// True when jobs are popped.
    pops: Arc<AtomicBool>,
}

impl Waits {
    /// Starts one idle wait for each of the first [`MOST_WAITS`] queues. Every end is sent on
    /// `ends`.
    pub(crate) fn start(
        redis: &Redis,
        identity: &str,
        queues: &[Arc<str>],
        held: Held,
        (pulse, limits): (&Arc<Pulse>, &HealthLimits),
        ends: &UnboundedSender<WaitEnd>,
    ) -> Result<Self, RedisError> {
        // Few queues ask again every 10 s, many less often: about one command a second in all.
        let count = queues.len().min(MOST_WAITS);
        let block = Duration::from_secs(count.clamp(10, 30) as u64).min(limits.wait_block);
        pulse.waits_block(block);
        let mut waits = Vec::with_capacity(count);
        let pops = Arc::new(AtomicBool::new(held == Held::Popped));
        for (queue, name) in queues.iter().enumerate().take(count) {
            let task = Arc::new(WaitTask {
                queue,
                name: name.clone(),
                source: redis.keys().queue(name),
                destination: redis.keys().inprogress(identity),
                pause_set: redis.keys().paused_queues(),
                block,
                stuck: block + limits.stuck_wait,
                what: format!("the wait for jobs on {name}"),
                pulse: pulse.clone(),
                waiter: Waiter::connect_lazily(redis.config())?,
                redis: redis.clone(),
                ends: ends.clone(),
                pops: pops.clone(),
                arm: Notify::new(),
                disarm: Notify::new(),
            });
            waits.push(Wait { state: State::Idle, run: tokio::spawn(task.clone().run()), task });
        }
        Ok(Self { waits, pops })
    }

    /// How the waits that begin from now on take their jobs.
    pub(crate) fn set_held(&self, held: Held) {
        self.pops.store(held == Held::Popped, Ordering::Release);
    }

    /// Lets the queue's wait begin; false when it has none, or it is under way.
    pub(crate) fn arm(&mut self, queue: usize) -> bool {
        let idle = self.waits.get_mut(queue).filter(|wait| wait.state == State::Idle);
        let Some(wait) = idle else { return false };
        wait.state = State::Armed;
        wait.task.arm.notify_one();
        true
    }

    /// How many waits may still bring a job.
    pub(crate) fn under_way(&self) -> usize {
        self.waits.iter().filter(|wait| wait.state != State::Idle).count()
    }

    /// Ends the queue's wait; its end is still reported, perhaps with a job.
    pub(crate) fn disarm(&mut self, queue: usize) {
        if let Some(wait) = self.waits.get_mut(queue).filter(|wait| wait.state == State::Armed) {
            wait.state = State::Disarming;
            wait.task.disarm.notify_one();
        }
    }

    /// Ends all waits.
    pub(crate) fn disarm_all(&mut self) {
        for queue in 0..self.waits.len() {
            self.disarm(queue);
        }
    }

    /// Notes that the queue's wait ended.
    pub(crate) fn ended(&mut self, queue: usize) {
        if let Some(wait) = self.waits.get_mut(queue) {
            wait.state = State::Idle;
        }
    }

    /// True while a wait may still bring a job.
    pub(crate) fn any_under_way(&self) -> bool {
        self.waits.iter().any(|wait| wait.state != State::Idle)
    }

    /// Starts the waits again whose task is gone, which is a fault of ours or of the client
    /// library: their ends will never be told. Their queues.
    pub(crate) fn revive_lost(&mut self) -> Vec<usize> {
        let mut lost = Vec::new();
        for (queue, wait) in self.waits.iter_mut().enumerate().filter(|(_, wait)| wait.run.is_finished()) {
            wait.task.pulse.wait_ended(queue);
            *wait = Wait {
                state: State::Idle,
                run: tokio::spawn(wait.task.clone().run()),
                task: wait.task.clone(),
            };
            lost.push(queue);
        }
        lost
    }

    /// How many queues have a wait.
    pub(crate) fn count(&self) -> usize {
        self.waits.len()
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        for wait in &self.waits {
            wait.run.abort();
        }
    }
}

struct WaitTask {
    queue: usize,
    name: Arc<str>,
    source: String,
    destination: String,
    pause_set: String,
    block: Duration,
    /// A round that lasts longer is given up.
    stuck: Duration,
    /// For the log.
    what: String,
    pulse: Arc<Pulse>,
    waiter: Waiter,
    redis: Redis,
    ends: UnboundedSender<WaitEnd>,
    pops: Arc<AtomicBool>,
    arm: Notify,
    disarm: Notify,
}

impl WaitTask {
    async fn run(self: Arc<Self>) {
        loop {
            self.arm.notified().await;
            let held = if self.pops.load(Ordering::Acquire) { Held::Popped } else { Held::Listed };
            let (begun, result) = self.wait(held).await;
            if self.ends.send(WaitEnd { queue: self.queue, held, begun, result }).is_err() {
                return;
            }
        }
    }

    /// Waits until a job comes, the wait fails or is disarmed; with when the last call was sent.
    async fn wait(&self, held: Held) -> (Instant, Result<Option<Waited>, RedisError>) {
        let destination = (held == Held::Listed).then_some(self.destination.as_str());
        let (mut disarmed, mut begun) = (false, Instant::now());
        while !disarmed {
            begun = Instant::now();
            let call = self.waiter.wait(&self.source, destination, self.block, &self.pause_set, &self.name);
            let wait = within(&self.what, self.stuck, call, self.waiter.reset());
            self.pulse.wait_began(self.queue, self.pulse.now());
            tokio::pin!(wait);
            let result = loop {
                tokio::select! {
                    biased;
                    result = &mut wait => break result,
                    () = self.disarm.notified(), if !disarmed => disarmed = true,
                    // Asked again until it ends: the first may come before Redis sees the wait.
                    () = self.unblock(), if disarmed => {}
                }
            };
            self.pulse.wait_ended(self.queue);
            if !matches!(result, Ok(None)) {
                return (begun, result);
            }
        }
        (begun, Ok(None))
    }

    async fn unblock(&self) {
        if !self.waiter.unblock(&self.redis, &self.source).await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use cogworker_core::redis_config::RedisConfig;
    use tokio::sync::mpsc;

    use super::*;
    use crate::config::Config;

    #[tokio::test]
    async fn a_wait_whose_task_is_gone_begins_anew_once() {
        // Nobody listens there: the waits are never under way.
        let redis = Redis::connect_lazily(&RedisConfig::new("redis://127.0.0.1:1").unwrap()).unwrap();
        let limits = HealthLimits::of(&Config::builder().build().unwrap());
        let (ends, _received) = mpsc::unbounded_channel();
        let queues = ["a".into(), "b".into()];
        let mut waits =
            Waits::start(&redis, "me", &queues, Held::Listed, (&Arc::default(), &limits), &ends).unwrap();
        waits.arm(1);
        assert!(waits.revive_lost().is_empty());
        waits.waits[1].run.abort();
        while !waits.waits[1].run.is_finished() {
            tokio::task::yield_now().await;
        }
        assert_eq!(waits.revive_lost(), [1]);
        assert!(waits.revive_lost().is_empty() && !waits.any_under_way());
    }
}
