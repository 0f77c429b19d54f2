//! The begin and the end of an outage are told, whoever noticed it.

use std::path::Path;
use std::time::Duration;

use cogworker_testing::{TestRedis, WorkerProcess, wait_until};

use crate::support::{SOON, TEST_WORKER, TestResult, identified, int, push, reach, running, spawn_program};

/// Calls fail soon after Redis stopped to answer.
const IMPATIENT: (&str, &str) = ("COGWORKER_REDIS_COMMAND_TIMEOUT", "0.3");

/// A worker that runs a job which waits at `gate`.
fn with_a_job_at(
    gate: &Path,
    class: &str,
    redis: &TestRedis,
) -> Result<WorkerProcess, Box<dyn std::error::Error>> {
    let (worker, identity) = identified(redis, spawn_program(TEST_WORKER, redis, &[], &[IMPATIENT])?)?;
    push(redis, class, &format!("[{:?}]", gate.display().to_string()), "j")?;
    reach("it runs and shows", || running(redis, &identity) == 1)?;
    Ok(worker)
}

fn count(worker: &WorkerProcess, text: &str) -> usize {
    worker.log().iter().filter(|line| line.contains(text)).count()
}

/// Longer than a place may be silent, and the time to the next call that works.
fn assert_told_as_over(worker: &WorkerProcess) {
    let told = wait_until(Duration::from_secs(30), || count(worker, "redis is back") == 1);
    assert!(told, "{:#?}", worker.log());
    assert_eq!(count(worker, "redis is away"), 1, "{:#?}", worker.log());
}

fn assert_the_next_one_is_told(worker: &WorkerProcess, redis: &TestRedis) -> TestResult {
    redis.stop();
    reach("the next outage is told", || count(worker, "redis is away") == 2)
}

#[test]
fn an_outage_is_over_though_the_shown_job_ended_meanwhile_out_03_log_12() -> TestResult {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let worker = with_a_job_at(&gate, "GateJob", &redis)?;
    redis.pause()?;
    std::fs::write(&gate, "")?;
    worker.wait_for_log("redis is away", SOON)?;
    // The write that would show that the job has ended fails meanwhile.
    let back = wait_until(Duration::from_secs(1), || count(&worker, "redis is back") > 0);
    assert!(!back, "{:#?}", worker.log());
    redis.resume()?;
    assert_told_as_over(&worker);
    assert_the_next_one_is_told(&worker, &redis)
}

#[test]
fn a_failover_to_a_replica_that_refuses_a_failed_job_is_one_outage_and_ends_out_03_log_12() -> TestResult {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let worker = with_a_job_at(&gate, "FailingGateJob", &redis)?;
    redis.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    std::fs::write(&gate, "")?;
    worker.wait_for_log("READONLY", SOON)?;
    // The settlement is refused meanwhile.
    assert!(
        !wait_until(Duration::from_secs(2), || count(&worker, "redis is back") > 0),
        "{:#?}",
        worker.log()
    );
    redis.cli(&["REPLICAOF", "NO", "ONE"]);
    reach("the failed job is filed", || int(&redis, &["ZCARD", "cogworker:retry"]) == 1)?;
    assert_told_as_over(&worker);
    assert_the_next_one_is_told(&worker, &redis)
}
