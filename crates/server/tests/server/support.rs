//! A Redis, a client and workers of a test's own.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::job::Job;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Server, ServerError, ServerHandle};
use cogworker_testing::{RespValue, TestRedis, wait_until};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::task::JoinHandle;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

/// Long enough for a slow machine; never waited out by a test that passes.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// Any args, as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Raw(pub(crate) Vec<Box<RawValue>>);

impl Job for Raw {
    const CLASS: &'static str = "RawJob";
}

/// A job that goes by its number.
#[derive(Serialize, Deserialize)]
pub(crate) struct Numbered(pub(crate) usize);

impl Job for Numbered {
    const CLASS: &'static str = "NumberedJob";
}

/// A job with a text.
#[derive(Serialize, Deserialize)]
pub(crate) struct Text(pub(crate) String);

impl Job for Text {
    const CLASS: &'static str = "TextJob";
}

/// What the handlers of a test saw, in order.
#[derive(Clone, Default)]
pub(crate) struct Seen<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone> Seen<T> {
    pub(crate) fn add(&self, item: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Jobs that wait at a gate until the test opens it, and how many are there.
#[derive(Clone)]
pub(crate) struct Gate {
    arrived: Arc<AtomicUsize>,
    permits: Arc<tokio::sync::Semaphore>,
}

impl Gate {
    pub(crate) fn closed() -> Self {
        Self { arrived: Arc::default(), permits: Arc::new(tokio::sync::Semaphore::new(0)) }
    }

    pub(crate) async fn pass(&self) {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }

    /// For blocking handlers: arrives without waiting.
    pub(crate) fn enter(&self) {
        self.arrived.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn arrived(&self) -> usize {
        self.arrived.load(Ordering::SeqCst)
    }

    pub(crate) fn let_pass(&self, jobs: usize) {
        self.permits.add_permits(jobs);
    }
}

/// A Redis and a client on it.
pub(crate) struct Site {
    pub(crate) redis: TestRedis,
    pub(crate) client: Client,
}

impl Site {
    pub(crate) async fn start() -> Result<Self, Box<dyn Error>> {
        Self::on(TestRedis::start()?).await
    }

    pub(crate) async fn on(redis: TestRedis) -> Result<Self, Box<dyn Error>> {
        let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
        Ok(Self { redis, client })
    }

    /// Runs a command; an error reply or a lost connection is an error.
    pub(crate) fn run<A: AsRef<[u8]>>(&self, args: &[A]) -> Result<RespValue, Box<dyn Error>> {
        match self.redis.command(args)? {
            RespValue::Error(text) => Err(text.into()),
            value => Ok(value),
        }
    }

    /// A command's number; -1 while Redis does not answer.
    pub(crate) fn int(&self, args: &[&str]) -> i64 {
        self.run(args).map_or(-1, |value| number(&value))
    }

    pub(crate) fn text(&self, args: &[&str]) -> String {
        self.run(args).map(|value| value.as_str().unwrap_or_default().to_owned()).unwrap_or_default()
    }

    pub(crate) fn texts(&self, args: &[&str]) -> Vec<String> {
        self.run(args).map(|value| value.strings()).unwrap_or_default()
    }

    pub(crate) fn waiting(&self, queue: &str) -> i64 {
        self.int(&["LLEN", &format!("cogworker:queue:{queue}")])
    }

    pub(crate) fn in_progress(&self, worker: &Worker) -> i64 {
        self.int(&["LLEN", &format!("cogworker:inprogress:{}", worker.identity)])
    }

    pub(crate) fn members(&self, set: &str) -> i64 {
        self.int(&["ZCARD", &format!("cogworker:{set}")])
    }

    pub(crate) fn processed(&self) -> i64 {
        self.int(&["GET", "cogworker:stats:processed"])
    }

    pub(crate) fn failed(&self) -> i64 {
        self.int(&["GET", "cogworker:stats:failed"])
    }

    /// The only entry of a sorted set, as JSON.
    pub(crate) fn only_entry(&self, set: &str) -> Result<serde_json::Value, Box<dyn Error>> {
        let entries = self.texts(&["ZRANGE", &format!("cogworker:{set}"), "0", "-1"]);
        match entries.as_slice() {
            [entry] => Ok(serde_json::from_str(entry)?),
            other => Err(format!("{set} should have one entry: {other:?}").into()),
        }
    }

    pub(crate) fn push_raw(&self, queue: &str, job: impl AsRef<[u8]>) -> TestResult {
        self.run(&[b"LPUSH".as_slice(), format!("cogworker:queue:{queue}").as_bytes(), job.as_ref()])?;
        Ok(())
    }

    /// Lets every entry of a set be due, and the pollers know.
    pub(crate) fn make_due(&self, set: &str) -> TestResult {
        let key = format!("cogworker:{set}");
        for entry in self.texts(&["ZRANGE", &key, "0", "-1"]) {
            self.run(&["ZADD", &key, "XX", "1", &entry])?;
        }
        self.run(&["PUBLISH", "cogworker:wake", ""])?;
        Ok(())
    }

    /// Lets workers move no damaged key away, so that a test sees how they get on with it.
    pub(crate) fn keep_damage(&self) -> TestResult {
        self.run(&["ACL", "SETUSER", "default", "-renamenx"])?;
        Ok(())
    }

    pub(crate) fn worker<S: Send + Sync + 'static>(&self, app: App<S>) -> Result<Worker, Box<dyn Error>> {
        self.worker_with(app, |_| {})
    }

    pub(crate) fn worker_with<S: Send + Sync + 'static>(
        &self,
        app: App<S>,
        configure: impl FnOnce(&mut Config),
    ) -> Result<Worker, Box<dyn Error>> {
        start_worker(&self.redis.url(), app, configure)
    }
}

pub(crate) fn start_worker<S: Send + Sync + 'static>(
    url: &str,
    app: App<S>,
    configure: impl FnOnce(&mut Config),
) -> Result<Worker, Box<dyn Error>> {
    let mut config = Config::builder()
        .redis(RedisConfig::new(url)?)
        .concurrency(4)
        .shutdown_timeout(Duration::from_millis(200))
        .build()?;
    configure(&mut config);
    Ok(start_server(Server::new(config, app)))
}

pub(crate) fn start_server(server: Server) -> Worker {
    let (identity, handle) = (server.identity().to_owned(), server.handle());
    let run = tokio::spawn(server.run(std::future::pending()));
    Worker { identity, handle, run }
}

/// A worker that runs inside the test.
pub(crate) struct Worker {
    pub(crate) identity: String,
    pub(crate) handle: ServerHandle,
    run: JoinHandle<Result<(), ServerError>>,
}

impl Worker {
    pub(crate) async fn stop(self) -> TestResult {
        self.handle.stop();
        self.ended().await
    }

    /// Drops the future of its run.
    pub(crate) async fn abandon(self) {
        self.run.abort();
        let _ = self.run.await;
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(self) -> TestResult {
        tokio::time::timeout(SOON, self.run).await???;
        Ok(())
    }

    /// What its run came to.
    pub(crate) async fn result(self) -> Result<Result<(), ServerError>, Box<dyn Error>> {
        Ok(tokio::time::timeout(SOON, self.run).await??)
    }

    pub(crate) fn key(&self, kind: &str) -> String {
        format!("cogworker:{kind}:{}", self.identity)
    }
}

/// A number, or the text of one.
fn number(value: &RespValue) -> i64 {
    value.as_int().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

/// Fails the test when the state does not come.
pub(crate) fn reach(what: &str, reached: impl FnMut() -> bool) -> TestResult {
    if wait_until(SOON, reached) { Ok(()) } else { Err(format!("not reached: {what}").into()) }
}

pub(crate) fn seconds_from_now(score: &str) -> Result<f64, Box<dyn Error>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(score.parse::<f64>()? - now.as_secs_f64())
}

/// Everything that the workers of this test process have logged. There can be but one of it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(crate) fn of_this_process() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Log::default();
            let writer = log.clone();
            let subscriber =
                tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
            let _ = tracing::subscriber::set_global_default(subscriber);
            log
        })
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.lines(text).len()
    }

    /// The lines that contain `text`.
    pub(crate) fn lines(&self, text: &str) -> Vec<String> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let log = String::from_utf8_lossy(&log);
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}
