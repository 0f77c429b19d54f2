//! One round of everything a worker does, for any kind of server: the same calls must work on all.

use std::error::Error;
use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::{Call, RedisError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, HistoryLimits, JobError};

use crate::support::{Gate, Numbered, SOON, Seen, TestResult, Text, Worker, start_worker};

/// Waits for a state that only a call can tell. A call that fails counts as not there yet.
pub(crate) async fn reach<F>(what: &str, mut reached: impl FnMut() -> F) -> TestResult
where
    F: Future<Output = Result<bool, RedisError>>,
{
    let begun = Instant::now();
    loop {
        let last = reached().await;
        if matches!(last, Ok(true)) {
            return Ok(());
        }
        if begun.elapsed() > SOON {
            return Err(format!("not reached: {what} ({last:?})").into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How long it took until jobs ran again, for whoever runs the tests with `--nocapture`.
pub(crate) fn measured(fault: &str, begun: Instant) -> Duration {
    let took = begun.elapsed();
    println!("measured: {fault}: {:.2} s", took.as_secs_f64());
    took
}

/// What the handlers of a round saw.
#[derive(Clone)]
pub(crate) struct Traces {
    pub(crate) numbers: Seen<usize>,
    pub(crate) texts: Seen<String>,
    pub(crate) stuck: Gate,
}

impl Traces {
    pub(crate) fn new() -> Self {
        Self { numbers: Seen::default(), texts: Seen::default(), stuck: Gate::closed() }
    }

    pub(crate) fn app(&self) -> App<Traces> {
        App::new(self.clone())
            .history(HistoryLimits::default())
            .status(Duration::from_secs(60))
            .job(|job: Numbered, ctx: Context<Traces>| async move { ctx.state().numbers.add(job.0) })
            .job(|job: Text, ctx: Context<Traces>| async move {
                ctx.state().texts.add(job.0.clone());
                match job.0.as_str() {
                    "stuck" => ctx.state().stuck.pass().await,
                    "fails once" if ctx.attempt() > 1 => {}
                    _ => return Err(JobError::new("FaultError", job.0)),
                }
                Ok(())
            })
    }

    pub(crate) fn sorted(&self) -> Vec<usize> {
        let mut numbers = self.numbers.all();
        numbers.sort_unstable();
        numbers
    }
}

/// A client, a worker, and what its jobs did.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) traces: Traces,
    pub(crate) worker: Worker,
}

impl Stage {
    pub(crate) async fn set(
        redis: &RedisConfig,
        configure: impl FnOnce(&mut Config),
    ) -> Result<Self, Box<dyn Error>> {
        let traces = Traces::new();
        let worker = start_worker("redis://unused", traces.app(), |config| {
            config.redis = redis.clone();
            config.queues = vec!["default".into(), "other".into()];
            configure(config);
        })?;
        Ok(Self { client: Client::connect(redis).await?, traces, worker })
    }

    /// A number that a command gives for one key.
    pub(crate) async fn count(&self, command: &'static str, key: String) -> Result<i64, RedisError> {
        self.client.redis().command(command, Call::new().key(key)).await?.int()
    }

    pub(crate) async fn in_progress(&self) -> Result<i64, RedisError> {
        self.count("LLEN", self.client.redis().keys().inprogress(&self.worker.identity)).await
    }

    /// Processed, failed, to be tried again, dead.
    pub(crate) async fn totals(&self) -> Result<[u64; 4], RedisError> {
        let stats = self.client.stats().await?;
        Ok([stats.processed, stats.failed, stats.retrying, stats.dead].map(Option::unwrap_or_default))
    }

    /// Pushed at once, in bulk and for later; failing once and for good; onto a paused queue; and
    /// stuck at the stop. What is left at the end is the stuck job on its queue.
    pub(crate) async fn play(self) -> Result<Client, Box<dyn Error>> {
        let Self { client, traces, worker } = &self;
        let keys = client.redis().keys();
        client.queue("other").pause().await?;
        client.push(NewJob::of(&Numbered(200)).queue("other")).await?;
        client.perform_async(&Numbered(1)).await?;
        client.push_bulk(&(2..=100).map(Numbered).collect::<Vec<_>>()).await?;
        client.perform_in(Duration::from_millis(50), &Numbered(101)).await?;
        client.perform_async(&Text("fails once".into())).await?;
        client.push(NewJob::of(&Text("fails for good".into())).retry(false)).await?;
        reach("all but one have run", || async { Ok(self.totals().await? == [101, 2, 1, 1]) }).await?;
        assert_eq!(traces.sorted(), (1..=101).collect::<Vec<_>>());

        let failed = client.retries().page(0, 10).await?;
        let entry = failed.entries.first().ok_or("the retry is there")?.raw.clone();
        let due = Call::new().key(keys.retry()).arg("XX").arg("1").arg(entry);
        client.redis().command("ZADD", due).await?;
        client.redis().command("PUBLISH", Call::new().key(keys.wake_channel()).arg("")).await?;
        reach("the second attempt", || async { Ok(self.totals().await? == [102, 2, 0, 1]) }).await?;
        assert_eq!(traces.texts.all().iter().filter(|text| *text == "fails once").count(), 2);

        assert_eq!(client.queue("other").info().await?.size, Some(1), "its queue is paused");
        client.queue("other").resume().await?;
        reach("the paused one ran", || async { Ok(self.totals().await? == [103, 2, 0, 1]) }).await?;
        assert_eq!(traces.numbers.all().last(), Some(&200));
        reach("nothing is in progress", || async { Ok(self.in_progress().await? == 0) }).await?;

        client.perform_async(&Text("stuck".into())).await?;
        reach("it is stuck", || async { Ok(traces.stuck.arrived() == 1) }).await?;
        let identity = worker.identity.clone();
        let Self { client, worker, .. } = self;
        let begun = Instant::now();
        worker.stop().await?;
        assert!(begun.elapsed() < Duration::from_secs(4), "its waits are ended: {:?}", begun.elapsed());
        let left = client.queue("default").page(0, 10).await?;
        assert_eq!(left.entries.len(), 1, "{left:?}");
        assert!(String::from_utf8_lossy(&left.entries[0]).contains("stuck"));
        let keys = client.redis().keys();
        for key in [keys.inprogress(&identity), keys.process(&identity), keys.workers(&identity)] {
            let there = client.redis().command("EXISTS", Call::new().key(&key)).await?.int()?;
            assert_eq!(there, 0, "{key}");
        }
        Ok(client)
    }
}
