//! A worker inside the test, on a Redis of its own.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::job::Job;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, JobError, Server, ServerError, ServerHandle};
use cogworker_testing::{TestRedis, TestRedisOptions};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::task::JoinHandle;

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// Long enough for anything that is going to happen.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Looks every 5 ms until `reached`; false when `limit` is over first.
pub(crate) async fn eventually(limit: Duration, mut reached: impl FnMut() -> bool) -> bool {
    let mut looks = tokio::time::interval(Duration::from_millis(5));
    let watch = async {
        while !reached() {
            looks.tick().await;
        }
    };
    tokio::time::timeout(limit, watch).await.is_ok()
}

/// What the test's jobs did.
#[derive(Clone, Default)]
pub(crate) struct Record {
    pub(crate) runs: Arc<AtomicU32>,
    pub(crate) seen: Arc<Mutex<Vec<String>>>,
}

impl Record {
    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(text.into());
        self.runs.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Notes its args, byte for byte.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Note(pub(crate) Vec<Box<RawValue>>);

impl Job for Note {
    const CLASS: &'static str = "NoteJob";
}

/// Fails its first n attempts.
#[derive(Serialize, Deserialize)]
pub(crate) struct Flaky(pub(crate) u32);

impl Job for Flaky {
    const CLASS: &'static str = "FlakyJob";
}

/// Sleeps.
#[derive(Serialize, Deserialize)]
pub(crate) struct Nap {
    pub(crate) ms: u64,
}

impl Job for Nap {
    const CLASS: &'static str = "NapJob";
}

/// Blocks its thread.
#[derive(Serialize, Deserialize)]
pub(crate) struct Block(pub(crate) u64);

impl Job for Block {
    const CLASS: &'static str = "BlockJob";
}

/// Panics.
#[derive(Serialize, Deserialize)]
pub(crate) struct Panics(pub(crate) String);

impl Job for Panics {
    const CLASS: &'static str = "PanicJob";
}

/// An app with a handler for each job above.
pub(crate) fn app(record: &Record) -> App<Record> {
    App::new(record.clone())
        .job(|job: Note, ctx: Context<Record>| async move {
            let args: Vec<&str> = job.0.iter().map(|arg| arg.get()).collect();
            ctx.state().note(args.join(","));
        })
        .job(|job: Flaky, ctx: Context<Record>| async move {
            ctx.state().note(format!("attempt {}", ctx.attempt()));
            if ctx.attempt() <= job.0 {
                return Err(JobError::new("FlakyError", format!("attempt {}", ctx.attempt())));
            }
            Ok(())
        })
        .job(|job: Nap, ctx: Context<Record>| async move {
            tokio::time::sleep(Duration::from_millis(job.ms)).await;
            ctx.state().note("napped");
        })
        .job_blocking(|job: Block, ctx: Context<Record>| {
            std::thread::sleep(Duration::from_millis(job.0));
            ctx.state().note(format!("blocked on {}", ctx.queue()));
        })
        .job(panic_somehow)
}

#[expect(clippy::panic, reason = "it is what is tested")]
async fn panic_somehow(Panics(text): Panics) {
    if text.is_empty() {
        std::panic::panic_any(7);
    }
    std::panic::panic_any(text);
}

/// A worker at work, and all that is needed to watch it.
pub(crate) struct Worker {
    pub(crate) redis: TestRedis,
    pub(crate) client: Client,
    pub(crate) record: Record,
    pub(crate) handle: ServerHandle,
    pub(crate) identity: String,
    pub(crate) task: JoinHandle<Result<(), ServerError>>,
}

pub(crate) fn config(redis: &TestRedis) -> Result<Config, Box<dyn Error>> {
    Ok(Config::builder().redis(RedisConfig::new(&redis.url())?).build()?)
}

/// A worker on the queue `default` with the app above.
pub(crate) async fn start() -> Result<Worker, Box<dyn Error>> {
    start_with(TestRedisOptions::new(), |_| {}).await
}

pub(crate) async fn start_with(
    options: TestRedisOptions,
    configure: impl FnOnce(&mut Config),
) -> Result<Worker, Box<dyn Error>> {
    let redis = options.start()?;
    start_on(redis, configure).await
}

pub(crate) async fn start_on(
    redis: TestRedis,
    configure: impl FnOnce(&mut Config),
) -> Result<Worker, Box<dyn Error>> {
    let mut config = config(&redis)?;
    configure(&mut config);
    let client = Client::connect(&config.redis).await?;
    let record = Record::default();
    let server = Server::new(config, app(&record));
    let (handle, identity) = (server.handle(), server.identity().to_owned());
    let task = tokio::spawn(server.run(std::future::pending()));
    Ok(Worker { redis, client, record, handle, identity, task })
}

impl Worker {
    pub(crate) async fn stop(self) -> Result<TestRedis, Box<dyn Error>> {
        self.handle.stop();
        self.task.await??;
        Ok(self.redis)
    }

    pub(crate) fn count(&self, args: &[&str]) -> i64 {
        let reply = self.redis.cli(args);
        reply.as_int().or_else(|| reply.as_str()?.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn processed(&self) -> i64 {
        self.count(&["GET", "cogworker:stats:processed"])
    }

    pub(crate) fn failed(&self) -> i64 {
        self.count(&["GET", "cogworker:stats:failed"])
    }

    pub(crate) fn held(&self) -> i64 {
        self.count(&["LLEN", &self.held_key()])
    }

    pub(crate) fn held_key(&self) -> String {
        format!("cogworker:inprogress:{}", self.identity)
    }

    /// Every element of a list or entry of a sorted set.
    pub(crate) fn entries(&self, key: &str) -> Vec<String> {
        let reply = self.redis.cli(&["TYPE", key]);
        let command = if reply == "zset" { "ZRANGE" } else { "LRANGE" };
        self.redis.cli(&[command, key, "0", "-1"]).strings()
    }
}

pub(crate) fn note(args: &str) -> Result<Note, serde_json::Error> {
    serde_json::from_str(args).map(Note)
}
