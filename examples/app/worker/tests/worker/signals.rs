//! What each signal does.

use std::time::Duration;

use cogworker_testing::{TestRedis, wait_until};

use crate::support::{
    SOON, TestResult, exit_code, held, int, processed, push, reach, running, texts, working,
};

#[test]
fn term_and_int_end_an_idle_worker_with_exit_code_0() -> TestResult {
    for signal in ["TERM", "INT"] {
        let redis = TestRedis::start()?;
        let (mut worker, identity) = working(&redis, &[], &[])?;
        worker.signal(signal)?;
        assert_eq!(exit_code(&mut worker)?, Some(0), "{signal}");
        worker.wait_for_log("INFO: stopped", SOON)?;
        let traces = ["processes", "inprogress_identities"].map(|set| format!("cogworker:{set}"));
        for set in &traces {
            assert_eq!(int(&redis, &["SISMEMBER", set, &identity]), 0, "{set}");
        }
    }
    Ok(())
}

#[test]
fn term_lets_a_running_job_end_first() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut worker, identity) = working(&redis, &[], &[])?;
    push(&redis, "SleepJob", "[1.0]", "j")?;
    reach("it runs", || running(&redis, &identity) == 1)?;
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    assert_eq!((processed(&redis), int(&redis, &["LLEN", "cogworker:queue:default"])), (1, 0));
    Ok(())
}

#[test]
fn term_puts_jobs_past_the_limit_back_async_and_blocking_ones_req_06() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut worker, identity) = working(&redis, &[], &[("COGWORKER_SHUTDOWN_TIMEOUT", "0.3")])?;
    push(&redis, "SleepJob", "[60]", "sleeper")?;
    push(&redis, "SpinJob", "[60]", "spinner")?;
    reach("both run", || running(&redis, &identity) == 2)?;
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    let queue = texts(&redis, &["LRANGE", "cogworker:queue:default", "0", "-1"]);
    for jid in ["sleeper", "spinner"] {
        assert!(queue.iter().any(|job| job.contains(jid)), "{queue:?}");
    }
    assert_eq!((queue.len(), held(&redis, &identity)), (2, 0));
    assert_eq!(int(&redis, &["EXISTS", &format!("cogworker:process:{identity}")]), 0);
    Ok(())
}

#[test]
fn tstp_stops_taking_jobs_and_lets_running_ones_end() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut worker, identity) = working(&redis, &[], &[])?;
    push(&redis, "SleepJob", "[0.5]", "first")?;
    reach("it runs", || running(&redis, &identity) == 1)?;
    worker.signal("TSTP")?;
    worker.wait_for_log("quiet: no further jobs are taken", SOON)?;
    reach("the running one ends", || processed(&redis) == 1)?;
    push(&redis, "NoopJob", "[]", "second")?;
    assert!(!wait_until(Duration::from_millis(700), || processed(&redis) > 1), "ran while quiet");
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    assert_eq!(int(&redis, &["LLEN", "cogworker:queue:default"]), 1);
    Ok(())
}

#[test]
fn ttin_logs_what_is_running_and_for_how_long() -> TestResult {
    let redis = TestRedis::start()?;
    let (worker, identity) = working(&redis, &["-c", "3"], &[])?;
    push(&redis, "SleepJob", "[60]", "sleeper")?;
    reach("it runs", || running(&redis, &identity) == 1)?;
    worker.signal("TTIN")?;
    worker.wait_for_log("1 of 3 slots are busy", SOON)?;
    worker.wait_for_log("running for ", SOON)?;
    let line = worker.log().into_iter().find(|line| line.contains("running for ")).unwrap_or_default();
    for part in ["sleeper", "SleepJob", "default"] {
        assert!(line.contains(part), "{line}");
    }
    Ok(())
}

#[test]
fn hup_reopens_a_log_file_that_was_moved_away() -> TestResult {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    let (path, moved) = (folder.path().join("worker.log"), folder.path().join("worker.log.1"));
    let (mut worker, _) = working(&redis, &["-L", &path.display().to_string()], &[])?;
    reach("it logs", || std::fs::read_to_string(&path).is_ok_and(|log| log.contains("is working on")))?;
    std::fs::rename(&path, &moved)?;
    worker.signal("HUP")?;
    reach("the new file is there", || {
        std::fs::read_to_string(&path).is_ok_and(|log| log.contains("reopened the log file"))
    })?;
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    assert!(std::fs::read_to_string(&path)?.contains("stopped"));
    assert!(!std::fs::read_to_string(&moved)?.contains("stopped"));
    Ok(())
}
