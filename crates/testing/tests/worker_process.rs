//! The harness for worker programs, tried on shell scripts.

#![cfg(feature = "servers")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cogworker_testing::{SignalError, WorkerProcess, WorkerProcessError, wait_until};

const SOON: Duration = Duration::from_secs(10);

const URL: &str = "redis://127.0.0.1:1";

fn sh(script: &str) -> WorkerProcess {
    #![expect(clippy::unwrap_used, reason = "a test without its process has failed")]
    WorkerProcess::spawn(Path::new("/bin/sh"), URL, ["-c", script]).unwrap()
}

#[test]
fn both_outputs_are_captured_and_the_url_is_passed_on() {
    let mut worker = sh("echo out $REDIS_URL; echo err >&2");
    assert_eq!(worker.wait_for_log("out", SOON).unwrap(), format!("out {URL}"));
    assert_eq!(worker.wait_for_log("err", SOON).unwrap(), "err");
    assert!(worker.wait(SOON).unwrap().success());
    assert_eq!(worker.log().len(), 2);
}

#[test]
fn a_line_is_seen_when_it_comes() {
    let worker = sh("trap 'echo stopping; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    worker.wait_for_log("ready", SOON).unwrap();
    assert!(!worker.log().contains(&"stopping".to_owned()));
    worker.signal("TERM").unwrap();
    worker.wait_for_log("stopping", SOON).unwrap();
}

#[test]
fn a_line_that_does_not_come_ends_the_wait_with_the_whole_log() {
    let worker = sh("echo something else; sleep 60");
    worker.wait_for_log("something", SOON).unwrap();
    let error = worker.wait_for_log("ready", Duration::from_millis(20)).unwrap_err();
    assert!(matches!(&error, WorkerProcessError::LogLate { log, .. } if log == "something else"), "{error}");
}

#[test]
fn an_early_end_is_told_at_once_and_not_at_the_deadline() {
    let worker = sh("echo no such queue >&2; exit 2");
    let error = worker.wait_for_log("ready", Duration::from_secs(600)).unwrap_err();
    assert!(matches!(&error, WorkerProcessError::LogEnded { log, .. } if log == "no such queue"), "{error}");
}

#[test]
fn a_line_that_repeats_is_found_once_each_time() {
    let mut worker = sh("echo beat 1; echo beat 2; exit");
    assert_eq!(worker.wait_for_next_log("beat", SOON).unwrap(), "beat 1");
    assert_eq!(worker.wait_for_next_log("beat", SOON).unwrap(), "beat 2");
    assert!(worker.wait_for_next_log("beat", SOON).is_err());
    assert_eq!(worker.wait_for_log("beat", SOON).unwrap(), "beat 1");
}

#[test]
fn the_exit_status_is_given_again_and_again() {
    let mut worker = sh("exit 3");
    assert_eq!(worker.wait(SOON).unwrap().code(), Some(3));
    assert_eq!(worker.wait(SOON).unwrap().code(), Some(3));
    assert!(!worker.is_running());
    assert!(matches!(worker.signal("TERM"), Err(SignalError::Ended(_))));
}

#[test]
fn a_worker_that_goes_on_is_reported_at_the_deadline() {
    let mut worker = sh("sleep 60");
    let error = worker.wait(Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, WorkerProcessError::StillRunning { .. }));
    assert!(worker.is_running());
}

#[test]
fn a_killed_worker_runs_no_handler() {
    let mut worker = sh("trap 'echo handled' TERM EXIT; echo ready; while :; do sleep 0.01; done");
    worker.wait_for_log("ready", SOON).unwrap();
    worker.kill();
    assert_eq!(worker.wait(SOON).unwrap().code(), None);
    assert_eq!(worker.log(), ["ready"]);
}

#[test]
fn a_paused_worker_does_nothing_until_it_is_resumed() {
    let mut worker = sh("trap 'echo handled' USR1; echo ready; while :; do sleep 0.01; done");
    worker.wait_for_log("ready", SOON).unwrap();
    worker.pause().unwrap();
    worker.signal("USR1").unwrap();
    assert!(worker.wait_for_log("handled", Duration::from_millis(50)).is_err());
    assert!(worker.is_running());
    worker.resume().unwrap();
    worker.wait_for_log("handled", SOON).unwrap();
    worker.pause().unwrap();
    worker.kill();
    assert!(matches!(worker.pause(), Err(SignalError::Ended(_))));
    assert!(matches!(worker.resume(), Err(SignalError::Ended(_))));
}

#[test]
fn a_worker_that_ends_as_it_is_paused_is_still_seen_to_end() {
    let mut worker = sh("exit 3");
    // Its output has ended, so it is about to end itself, or has.
    worker.wait_for_log("never", SOON).unwrap_err();
    if worker.pause().is_ok() {
        worker.resume().unwrap();
    }
    assert_eq!(worker.wait(SOON).unwrap().code(), Some(3));
}

#[test]
fn a_strange_signal_is_refused() {
    let worker = sh("sleep 60");
    assert!(matches!(worker.signal("NOPE"), Err(SignalError::Unknown(_))));
}

#[test]
fn a_missing_program_is_an_error_that_names_it() {
    let error = WorkerProcess::spawn(Path::new("/no/such/worker"), URL, [""; 0]).unwrap_err();
    assert!(error.to_string().contains("/no/such/worker"), "{error}");
}

#[test]
fn dropping_a_worker_ends_what_it_started_too() {
    let worker = sh("sleep 600 & echo child $!; wait");
    let line = worker.wait_for_log("child", SOON).unwrap();
    let child = line.strip_prefix("child ").unwrap().to_owned();
    // An orphan that nobody reaps stays as a zombie: that is an end too.
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(alive());
    drop(worker);
    assert!(wait_until(SOON, || !alive()));
}

#[test]
fn a_prepared_command_keeps_its_environment() {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo id=$COGWORKER_ID"]).env("COGWORKER_ID", "w1");
    let worker = WorkerProcess::spawn_command(command).unwrap();
    assert_eq!(worker.wait_for_log("id=", SOON).unwrap(), "id=w1");
}

#[test]
fn a_long_wait_ends_as_soon_as_the_worker_does() {
    let begin = Instant::now();
    sh("exit 0").wait(Duration::from_secs(600)).unwrap();
    assert!(begin.elapsed() < SOON);
}
