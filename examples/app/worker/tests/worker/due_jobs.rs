//! Due jobs that cannot be read or moved: told once a second, and in nobody's way.

use std::time::{Duration, Instant};

use cogworker_testing::{RespValue, TestRedis, WorkerProcess, wait_until};

use crate::support::{SOON, TestResult, exit_code, int, reach, working};

const DUE: i64 = 600;

fn order(redis: &TestRedis, command: &[impl AsRef<[u8]>]) -> TestResult {
    match redis.command(command)? {
        RespValue::Error(text) => Err(text.into()),
        _ => Ok(()),
    }
}

/// A worker, and more jobs that become due in a second than are moved at a time.
fn soon_due() -> Result<(TestRedis, WorkerProcess), Box<dyn std::error::Error>> {
    let redis = TestRedis::start()?;
    let (worker, _) = working(&redis, &["-q", "unused"], &[])?;
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs_f64() + 1.0;
    let mut add = vec!["ZADD".to_owned(), "cogworker:schedule".to_owned()];
    for number in 0..DUE {
        add.push(soon.to_string());
        add.push(format!(r#"{{"class":"NoopJob","args":[],"queue":"later","jid":"{number}"}}"#));
    }
    order(&redis, &add)?;
    Ok((redis, worker))
}

/// Redis lets them be neither moved nor postponed.
fn stuck() -> Result<(TestRedis, WorkerProcess), Box<dyn std::error::Error>> {
    let (redis, worker) = soon_due()?;
    order(&redis, &["ACL", "SETUSER", "default", "-lpush", "-zadd"])?;
    worker.wait_for_log("due jobs where they are: failed to", SOON)?;
    Ok((redis, worker))
}

fn complaints(worker: &WorkerProcess) -> usize {
    worker.log().iter().filter(|line| line.contains("due jobs")).count()
}

#[test]
fn a_redis_that_refuses_is_asked_once_a_second_and_term_ends_the_worker_all_the_same() -> TestResult {
    let (redis, mut worker) = stuck()?;
    assert!(!wait_until(Duration::from_secs(3), || complaints(&worker) > 5), "{:#?}", worker.log());
    let told = Instant::now();
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    assert!(told.elapsed() < Duration::from_secs(3), "{:?}", told.elapsed());
    assert_eq!(int(&redis, &["ZCARD", "cogworker:schedule"]), DUE);
    Ok(())
}

#[test]
fn due_jobs_move_though_redis_is_full_as_that_takes_no_more_memory_p_49() -> TestResult {
    let (redis, worker) = soon_due()?;
    order(&redis, &["CONFIG", "SET", "maxmemory", "1"])?;
    reach("all are on their queue", || int(&redis, &["LLEN", "cogworker:queue:later"]) == DUE)?;
    assert_eq!((int(&redis, &["EXISTS", "cogworker:schedule"]), complaints(&worker)), (0, 0));
    Ok(())
}

#[test]
fn due_jobs_move_once_redis_takes_them_again() -> TestResult {
    let (redis, worker) = stuck()?;
    order(&redis, &["ACL", "SETUSER", "default", "+lpush", "+zadd"])?;
    let freed = Instant::now();
    reach("all are on their queue", || int(&redis, &["LLEN", "cogworker:queue:later"]) == DUE)?;
    assert!(freed.elapsed() < Duration::from_secs(3), "{:?}", freed.elapsed());
    let told = complaints(&worker);
    assert!(!wait_until(Duration::from_millis(1500), || complaints(&worker) > told), "{:#?}", worker.log());
    Ok(())
}

#[test]
fn a_schedule_of_the_wrong_type_is_told_once_a_second_however_often_the_poller_is_woken() -> TestResult {
    let redis = TestRedis::start()?;
    // It would be moved away otherwise.
    redis.cli(&["ACL", "SETUSER", "default", "-renamenx"]);
    redis.cli(&["SET", "cogworker:schedule", "odd"]);
    let (worker, _) = working(&redis, &[], &[])?;
    let told = || worker.log().iter().filter(|line| line.contains("polling the schedule: failed")).count();
    reach("it is told", || told() == 1)?;
    let flooded = wait_until(Duration::from_millis(1500), || {
        redis.cli(&["PUBLISH", "cogworker:wake", ""]);
        told() > 3
    });
    assert!(!flooded, "{:#?}", worker.log());
    let retry = r#"{"class":"NoopJob","args":[],"queue":"later","jid":"j"}"#;
    redis.cli(&["ZADD", "cogworker:retry", "1", retry]);
    redis.cli(&["PUBLISH", "cogworker:wake", ""]);
    let moved = Instant::now();
    reach("the retry is moved", || int(&redis, &["LLEN", "cogworker:queue:later"]) == 1)?;
    assert!(moved.elapsed() < Duration::from_millis(500), "{:?}", moved.elapsed());
    Ok(())
}
