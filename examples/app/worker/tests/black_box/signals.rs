//! TERM, INT, TSTP, TTIN, HUP.

use std::fs;
use std::time::{Duration, Instant};

use cogworker_testing::{TestRedis, WorkerProcess};

use crate::support::{Outcome, SOON, command, count, push, soon, start, start_with};

#[test]
fn term_and_int_stop_cleanly_and_leave_no_presence() -> Outcome {
    for signal in ["TERM", "INT"] {
        let redis = TestRedis::start()?;
        let mut worker = start(&redis, &[])?;
        worker.signal(signal)?;
        assert_eq!(worker.wait(SOON)?.code(), Some(0), "{signal}");
        assert_eq!(redis.cli(&["EXISTS", "cogworker:processes", "cogworker:inprogress_identities"]), 0);
    }
    Ok(())
}

#[test]
fn term_lets_a_running_job_finish() -> Outcome {
    let redis = TestRedis::start()?;
    let mut worker = start(&redis, &[])?;
    push(&redis, "SleepJob", "[0.5]", "s");
    assert!(soon(|| count(&redis, &["LLEN", &crate::support::held_key(&redis)]) == 1));
    worker.signal("TERM")?;
    assert_eq!(worker.wait(SOON)?.code(), Some(0));
    assert_eq!(redis.cli(&["GET", "cogworker:stats:processed"]), "1");
    Ok(())
}

#[test]
fn a_job_past_the_shutdown_limit_is_back_on_its_queue_req_06() -> Outcome {
    let redis = TestRedis::start()?;
    let mut worker = start_with(&redis, &[], &[("COGWORKER_SHUTDOWN_TIMEOUT", "0.3")])?;
    push(&redis, "SleepJob", "[60]", "async");
    push(&redis, "SpinJob", "[60]", "blocking");
    assert!(soon(|| count(&redis, &["LLEN", &crate::support::held_key(&redis)]) == 2));
    let begun = Instant::now();
    worker.signal("TERM")?;
    assert_eq!(worker.wait(SOON)?.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(count(&redis, &["LLEN", "cogworker:queue:default"]), 2);
    assert_eq!(redis.cli(&["EXISTS", "cogworker:stats:failed", "cogworker:inprogress_identities"]), 0);
    Ok(())
}

#[test]
fn tstp_takes_no_further_jobs_and_finishes_those_that_run() -> Outcome {
    let redis = TestRedis::start()?;
    let mut worker = start(&redis, &[])?;
    push(&redis, "SleepJob", "[0.5]", "s");
    assert!(soon(|| count(&redis, &["LLEN", &crate::support::held_key(&redis)]) == 1));
    worker.signal("TSTP")?;
    worker.wait_for_log("quiet", SOON)?;
    push(&redis, "GreetingJob", "[\"nobody\"]", "g");
    assert!(soon(|| count(&redis, &["GET", "cogworker:stats:processed"]) == 1));
    worker.signal("TERM")?;
    worker.wait(SOON)?;
    assert_eq!(count(&redis, &["LLEN", "cogworker:queue:default"]), 1);
    Ok(())
}

#[test]
fn ttin_logs_what_is_running() -> Outcome {
    let redis = TestRedis::start()?;
    let worker = start(&redis, &[])?;
    push(&redis, "SleepJob", "[30]", "the-sleeper");
    assert!(soon(|| count(&redis, &["LLEN", &crate::support::held_key(&redis)]) == 1));
    worker.signal("TTIN")?;
    let line = worker.wait_for_log("the-sleeper", SOON)?;
    assert!(line.contains("SleepJob") && line.contains("running for"), "{line}");
    Ok(())
}

#[test]
fn hup_reopens_the_log_file() -> Outcome {
    let redis = TestRedis::start()?;
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("worker.log");
    let mut command = command(&["-L", &log.display().to_string()]);
    command.env("REDIS_URL", redis.url());
    let worker = WorkerProcess::spawn_command(command)?;
    let has = |text: &str| fs::read_to_string(&log).is_ok_and(|log| log.contains(text));
    assert!(soon(|| has("is working on")));
    fs::rename(&log, folder.path().join("old.log"))?;
    worker.signal("HUP")?;
    assert!(soon(|| has("reopened the log file")));
    Ok(())
}
