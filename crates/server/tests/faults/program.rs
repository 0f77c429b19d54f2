//! The worker as a process of its own, whose log belongs to one test.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Context, JobError, Periodic, Server};
use cogworker_testing::WorkerProcess;
use tokio::signal::unix::{SignalKind, signal};

use crate::support::{Numbered, TestResult, Text, reach};

/// Set where this program is the worker and not the test.
const ROLE: &str = "COGWORKER_FAULTS_WORKER";
/// Set where others are to take the worker for dead after [`SILENCE`].
const SHORT_LEASE: &str = "COGWORKER_FAULTS_SHORT_LEASE";
/// Set where the worker fires [`TICK`] each second, and runs nothing.
const TICKS: &str = "COGWORKER_FAULTS_TICKS";
/// Set where the worker fires a job each second that waits at the gate, one run at a time.
const ONE_AT_A_TIME: &str = "COGWORKER_FAULTS_ONE_AT_A_TIME";
/// The text of the job of each second.
pub(crate) const TICK: &str = "tick";
const SILENCE: Duration = Duration::from_secs(2);

/// A worker that says on its output which jobs it ran.
pub(crate) struct Program {
    pub(crate) process: WorkerProcess,
    pub(crate) identity: String,
    gate: tempfile::TempDir,
}

impl Program {
    /// Starts it with `variables`; `REDIS_URL` must be among them.
    pub(crate) fn spawn(variables: &[(&str, &str)]) -> Result<Self, Box<dyn Error>> {
        let gate = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["program::the_worker_of_the_other_tests", "--exact", "--ignored", "--nocapture"])
            .env(ROLE, gate.path().join("open"))
            .envs(variables.iter().copied());
        let process = WorkerProcess::spawn_command(command)?;
        Ok(Self { process, identity: String::new(), gate })
    }

    /// Starts it on `url` and waits until it works.
    pub(crate) fn working(url: &str) -> Result<Self, Box<dyn Error>> {
        Self::working_with(&[("REDIS_URL", url)])
    }

    /// The same, and it takes others for dead, as they do it, after two seconds of silence.
    pub(crate) fn working_on_a_short_lease(url: &str) -> Result<Self, Box<dyn Error>> {
        Self::working_with(&[("REDIS_URL", url), (SHORT_LEASE, "1")])
    }

    /// The same; it fires a slot each second, whose job stays on the queue `default`.
    pub(crate) fn ticking(url: &str) -> Result<Self, Box<dyn Error>> {
        Self::working_with(&[("REDIS_URL", url), (TICKS, "1")])
    }

    /// On a short lease; it runs a job each second that waits at the gate, none before the last has ended.
    pub(crate) fn ticking_one_at_a_time(url: &str) -> Result<Self, Box<dyn Error>> {
        Self::working_with(&[("REDIS_URL", url), (SHORT_LEASE, "1"), (ONE_AT_A_TIME, "1")])
    }

    fn working_with(variables: &[(&str, &str)]) -> Result<Self, Box<dyn Error>> {
        let mut program = Self::spawn(variables)?;
        let line = program.process.wait_for_log(" is working on ", Duration::from_secs(15))?;
        let name = line.split(" is working on ").next().and_then(|head| head.split_whitespace().last());
        program.identity = name.unwrap_or_default().to_owned();
        Ok(program)
    }

    /// Lets the jobs that wait end, those that come later too.
    pub(crate) fn open_gate(&self) -> TestResult {
        Ok(std::fs::write(self.gate.path().join("open"), "")?)
    }

    /// The lines of its log that contain `text`.
    pub(crate) fn lines(&self, text: &str) -> Vec<String> {
        self.process.log().into_iter().filter(|line| line.contains(text)).collect()
    }

    /// How often it said that a job did something: `ran 7`, `waits`.
    pub(crate) fn said(&self, text: &str) -> usize {
        self.process.log().iter().filter(|line| *line == text).count()
    }

    pub(crate) fn runs(&self) -> usize {
        self.process.log().iter().filter(|line| line.starts_with("ran ")).count()
    }

    pub(crate) fn outages(&self) -> (usize, usize) {
        let begins = self.lines("redis is away").len() + self.lines("redis is full").len();
        (begins, self.lines("redis is back").len())
    }

    /// One line when Redis went, one when it came back, and not one for each call that failed (OUT-03,
    /// LOG-12).
    pub(crate) fn told_one_outage(&self) -> TestResult {
        let told = reach("the recovery is told", || self.outages().1 >= 1);
        let log = || self.process.log().join("\n");
        told.map_err(|error| format!("{error}; the log:\n{}", log()))?;
        assert_eq!(self.outages(), (1, 1), "{}", log());
        let errors = self.lines("ERROR").into_iter().filter(|line| !line.contains("redis is full"));
        assert_eq!(errors.count(), 0, "{}", log());
        Ok(())
    }

    /// Ends in order.
    pub(crate) fn stop(mut self) -> TestResult {
        self.process.signal("TERM")?;
        let status = self.process.wait(Duration::from_secs(15))?;
        if status.success() { Ok(()) } else { Err(format!("{status}: {:?}", self.process.log()).into()) }
    }
}

/// No test: what [`Program`] runs.
#[test]
#[ignore = "the other tests start it"]
fn the_worker_of_the_other_tests() -> TestResult {
    let Some(gate) = std::env::var_os(ROLE) else { return Ok(()) };
    tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::INFO).init();
    let mut config = Config::builder().redis(RedisConfig::from_env()?).concurrency(10).build()?;
    if std::env::var_os(SHORT_LEASE).is_some() {
        // Two jobs fill it, so that it waits for no third when it is frozen: such a wait would take a
        // job until Redis ends it, which is long before others act where the silence is not so short.
        config.concurrency = 2;
        config.shutdown_timeout = Duration::from_millis(200);
        config.timings.beat = Duration::from_millis(100);
        config.timings.presence = SILENCE;
        config.timings.check = Duration::from_millis(100);
        config.orphan_threshold = SILENCE;
    }
    let mut app = App::new(gate).job(|job: Numbered| async move { println!("ran {}", job.0) }).job(
        |job: Text, ctx: Context<std::ffi::OsString>| async move {
            println!("waits");
            while !Path::new(ctx.state()).exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            println!("ran {}", job.0);
            if job.0.starts_with("fails") { Err(JobError::new("FaultError", job.0)) } else { Ok(()) }
        },
    );
    if std::env::var_os(TICKS).is_some() {
        config.queues = vec!["nobody's".to_owned()];
        app = app.periodic(Periodic::cron("* * * * * *", &Text(TICK.to_owned())));
    }
    if std::env::var_os(ONE_AT_A_TIME).is_some() {
        app = app.periodic(Periodic::cron("* * * * * *", &Text(TICK.to_owned())).until_executed());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate())?;
        Server::new(config, app).run(async move { term.recv().await.unwrap_or_default() }).await?;
        Ok(())
    })
}
