//! `--health-bind`: what a worker process tells over HTTP in each state.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use cogworker_testing::{TestRedis, WorkerProcess};
use serde_json::{Value, json};

use crate::support::{
    SOON, TEST_WORKER, TestResult, exit_code, identified, processed, push, reach, run_alone, running,
    spawn_program, spawn_with, working,
};

const FLAGS: [&str; 2] = ["--health-bind", "127.0.0.1:0"];

/// Where a worker's health checks are answered.
struct Checks(String);

impl Checks {
    /// From the worker's log, as the port is any free one.
    fn of(worker: &WorkerProcess) -> Result<Self, Box<dyn Error>> {
        let line = worker.wait_for_log("health checks are answered at http://", SOON)?;
        Ok(Self(line.rsplit('/').next().unwrap_or_default().to_owned()))
    }

    /// Status and body; status 0 while nobody answers.
    fn get(&self, path: &str) -> (u16, String) {
        let answer = self.exchange(path).unwrap_or_default();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    fn exchange(&self, path: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.0)?;
        stream.set_read_timeout(Some(SOON))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.0)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// What `/live` and `/ready` say.
    fn live_and_ready(&self) -> (u16, u16) {
        (self.get("/live").0, self.get("/ready").0)
    }

    fn report(&self) -> Value {
        serde_json::from_str(&self.get("/health").1).unwrap_or_default()
    }
}

#[test]
fn a_worker_whose_application_is_being_built_is_live_and_not_ready() -> TestResult {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    for variable in ["TEST_BUILD_GATE", "TEST_BLOCKING_BUILD_GATE"] {
        let gate = folder.path().join(variable);
        let path = gate.display().to_string();
        let worker = spawn_program(TEST_WORKER, &redis, &FLAGS, &[(variable, &path)])?;
        worker.wait_for_log("building the application", SOON)?;
        let checks = Checks::of(&worker)?;
        assert_eq!(checks.get("/live"), (200, "live\n".into()));
        assert_eq!(checks.get("/ready"), (503, "starting: the application is being built\n".into()));
        assert_eq!(checks.report()["state"], "starting");
        assert_eq!(redis.cli(&["DBSIZE"]), 0, "nothing was registered");
        std::fs::write(&gate, "")?;
        let (mut worker, identity) = identified(&redis, worker)?;
        reach("it is ready", || checks.live_and_ready() == (200, 200))?;
        assert_eq!(checks.report()["identity"], json!(identity));
        worker.signal("TERM")?;
        assert_eq!(exit_code(&mut worker)?, Some(0));
        redis.flush()?;
    }
    Ok(())
}

#[test]
fn a_worker_is_live_while_redis_is_away_and_ready_while_it_is_there() -> TestResult {
    let redis = TestRedis::start()?;
    redis.stop();
    let worker = spawn_with(&redis, &FLAGS, &[])?;
    let checks = Checks::of(&worker)?;
    assert_eq!(checks.live_and_ready(), (200, 503));
    // While the application is being built, that is the reason.
    let waits = || checks.get("/ready").1.starts_with("starting: no heartbeat has reached redis yet\n");
    reach("it waits for redis", waits)?;
    assert_eq!((checks.live_and_ready(), checks.report()["state"].clone()), ((200, 503), "starting".into()));

    redis.restart()?;
    reach("it is ready", || checks.live_and_ready() == (200, 200))?;
    assert_eq!(checks.report()["redis"], json!({"away_since_s": null}));
    redis.stop();
    reach("it is not ready", || checks.live_and_ready() == (200, 503))?;
    reach("it tells since when", || checks.report()["redis"]["away_since_s"].is_f64())?;
    assert!(checks.get("/ready").1.contains("redis is away for "), "{:?}", checks.get("/ready"));
    redis.restart()?;
    reach("it is ready again", || checks.live_and_ready() == (200, 200))?;
    Ok(())
}

#[test]
fn health_tells_who_works_on_what() -> TestResult {
    let redis = TestRedis::start()?;
    let args = [&FLAGS[..], &["-c", "3", "-q", "default,2", "-q", "low"]].concat();
    let (worker, identity) = working(&redis, &args, &[])?;
    let checks = Checks::of(&worker)?;
    reach("it is ready", || checks.live_and_ready() == (200, 200))?;
    push(&redis, "SleepJob", "[60]", "j")?;
    reach("a job runs", || checks.report()["busy"] == 1)?;
    reach("it waits", || checks.report()["fetch"]["state"] == "waiting")?;
    let report = checks.report();
    assert_eq!(report["identity"], json!(identity));
    assert_eq!(report["version"], json!(env!("CARGO_PKG_VERSION")));
    assert_eq!(
        (&report["state"], &report["live"], &report["ready"]),
        (&json!("working"), &json!(true), &json!(true))
    );
    assert_eq!((&report["concurrency"], &report["queues"]), (&json!(3), &json!(["default", "low"])));
    assert_eq!(report["reasons"], json!([]));
    for age in [&report["last_beat_age_s"], &report["fetch"]["age_s"], &report["fetch"]["last_success_age_s"]]
    {
        assert!(age.as_f64().is_some_and(|age| (0.0..60.0).contains(&age)), "{report}");
    }
    assert!(report["started_at"].as_f64().is_some_and(|at| at > 1.7e9), "{report}");
    Ok(())
}

#[test]
fn a_worker_with_all_slots_busy_or_all_queues_paused_is_ready() -> TestResult {
    let redis = TestRedis::start()?;
    let (worker, _) = working(&redis, &[&FLAGS[..], &["-c", "1"]].concat(), &[])?;
    let checks = Checks::of(&worker)?;
    reach("it is ready", || checks.live_and_ready() == (200, 200))?;
    push(&redis, "SleepJob", "[1.0]", "j")?;
    reach("it is full", || checks.report()["fetch"]["state"] == "full")?;
    assert_eq!(checks.live_and_ready(), (200, 200));
    redis.command(&["SADD", "cogworker:paused_queues", "default"])?;
    reach("it has nothing to fetch", || checks.report()["fetch"]["state"] == "paused")?;
    assert_eq!(checks.live_and_ready(), (200, 200));
    Ok(())
}

#[test]
fn a_quiet_worker_and_then_a_stopping_one_are_live_and_not_ready() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut worker, identity) = working(&redis, &FLAGS, &[])?;
    let checks = Checks::of(&worker)?;
    reach("it is ready", || checks.live_and_ready() == (200, 200))?;
    push(&redis, "SleepJob", "[1.5]", "j")?;
    reach("it runs", || running(&redis, &identity) == 1)?;
    worker.signal("TSTP")?;
    reach("it is quiet", || checks.report()["state"] == "quiet")?;
    assert_eq!(checks.live_and_ready(), (200, 503));
    worker.signal("TERM")?;
    reach("it is stopping", || checks.report()["state"] == "stopping")?;
    assert_eq!(checks.get("/live").0, 200);
    assert_eq!(checks.get("/ready"), (503, "stopping\n".into()));
    assert_eq!(exit_code(&mut worker)?, Some(0));
    assert_eq!(processed(&redis), 1);
    Ok(())
}

#[test]
fn an_address_in_use_ends_the_worker_with_exit_code_1() -> TestResult {
    let redis = TestRedis::start()?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let mut worker = spawn_with(&redis, &["--health-bind", &address], &[])?;
    assert_eq!(exit_code(&mut worker)?, Some(1));
    let text =
        format!("failed to start the worker: answer health checks at {address}: Address already in use");
    worker.wait_for_log(&text, SOON)?;
    assert_eq!(redis.cli(&["DBSIZE"]), 0, "nothing was registered");
    Ok(())
}

#[test]
fn an_address_that_is_none_is_refused_with_exit_code_2() -> TestResult {
    let expected = "health_bind: expected an IP address and a port such as 127.0.0.1:7433, found ";
    for (args, variables, place) in [
        (&["--health-bind", "7433"][..], &[][..], "flag --health-bind"),
        (&[], &[("COGWORKER_HEALTH_BIND", "localhost:7433")], "env COGWORKER_HEALTH_BIND"),
    ] {
        let output = run_alone(args, variables)?;
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8(output.stderr)?;
        assert!(errors.starts_with(&format!("cogworker: {place}: {expected}")), "{errors}");
    }
    Ok(())
}

#[test]
fn without_an_address_nothing_listens() -> TestResult {
    let redis = TestRedis::start()?;
    let (worker, _) = working(&redis, &[], &[])?;
    // Its sockets lead to Redis or its parent; listening ones are in state 0A.
    let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", worker.pid()))?;
    let listening: Vec<&str> = table
        .lines()
        .filter(|line| line.split_whitespace().nth(3) == Some("0A"))
        .filter_map(|line| line.split_whitespace().nth(9))
        .collect();
    for entry in std::fs::read_dir(format!("/proc/{}/fd", worker.pid()))? {
        let target = std::fs::read_link(entry?.path()).unwrap_or_default().display().to_string();
        let inode = target.trim_start_matches("socket:[").trim_end_matches(']');
        assert!(!listening.contains(&inode), "{target} listens");
    }
    Ok(())
}
