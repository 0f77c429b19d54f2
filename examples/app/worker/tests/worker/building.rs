//! What a worker does while its application is being built, and the threads it has then.

use std::time::{Duration, Instant};

use cogworker_testing::TestRedis;

use crate::support::{
    SOON, TEST_WORKER, TestResult, exit_code, identified, int, processed, push, reach, spawn_program, texts,
};

#[test]
fn term_and_int_end_a_worker_whose_application_is_being_built_and_it_never_registers() -> TestResult {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("never").display().to_string();
    for (signal, variable, line) in [
        ("TERM", "TEST_BUILD_GATE", "stopped before the application was built"),
        ("INT", "TEST_BUILD_GATE", "stopped before the application was built"),
        ("TERM", "TEST_BLOCKING_BUILD_GATE", "stopped while the application was being built"),
    ] {
        let mut worker = spawn_program(TEST_WORKER, &redis, &[], &[(variable, &gate)])?;
        worker.wait_for_log("building the application", SOON)?;
        let told = Instant::now();
        worker.signal(signal)?;
        assert_eq!(exit_code(&mut worker)?, Some(0), "{signal} {variable}");
        assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
        worker.wait_for_log(line, SOON)?;
    }
    assert_eq!(texts(&redis, &["KEYS", "*"]), Vec::<String>::new());
    Ok(())
}

#[test]
fn an_application_that_cannot_be_built_says_why_with_every_cause() -> TestResult {
    let redis = TestRedis::start()?;
    let mut worker = spawn_program(TEST_WORKER, &redis, &[], &[("TEST_BUILD_FILE", "/none/greeting")])?;
    assert_eq!(exit_code(&mut worker)?, Some(1));
    worker.wait_for_log(
        "failed to build the application: read the greeting: No such file or directory",
        SOON,
    )?;
    assert_eq!(texts(&redis, &["KEYS", "*"]), Vec::<String>::new());
    Ok(())
}

#[test]
fn other_signals_are_obeyed_while_the_application_is_being_built() -> TestResult {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    let (gate, log) = (folder.path().join("gate"), folder.path().join("worker.log"));
    let (path, variable) = (log.display().to_string(), gate.display().to_string());
    let worker = spawn_program(TEST_WORKER, &redis, &["-L", &path], &[("TEST_BUILD_GATE", &variable)])?;
    let logged = |line: &str| std::fs::read_to_string(&log).is_ok_and(|log| log.contains(line));
    reach("it is being built", || logged("building the application"))?;
    for (signal, line) in [
        ("TTIN", "the application is still being built"),
        ("HUP", "reopened the log file"),
        ("TSTP", "quiet: no further jobs are taken"),
    ] {
        worker.signal(signal)?;
        reach(line, || logged(line))?;
    }
    std::fs::write(&gate, "")?;
    let (_worker, identity) = identified(&redis, worker)?;
    let process = format!("cogworker:process:{identity}");
    reach("a beat shows it quiet", || texts(&redis, &["HMGET", &process, "quiet"]) == ["true"])?;
    Ok(())
}

#[test]
fn more_blocking_jobs_than_a_runtime_has_threads_by_default_run_at_once() -> TestResult {
    const JOBS: i64 = 530;
    let redis = TestRedis::start()?;
    let concurrency = JOBS.to_string();
    let worker = spawn_program(TEST_WORKER, &redis, &["-c", &concurrency], &[])?;
    let (_worker, _) = identified(&redis, worker)?;
    for number in 0..JOBS {
        push(&redis, "TogetherJob", &format!("[{JOBS}]"), &number.to_string())?;
    }
    reach("all have run together", || processed(&redis) == JOBS)?;
    assert_eq!(int(&redis, &["EXISTS", "cogworker:retry", "cogworker:dead"]), 0);
    Ok(())
}
