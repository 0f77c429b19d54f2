//! A worker that dies, and jobs as other programs push them.

use cogworker_testing::{TestRedis, WorkerProcess, wait_until};

use crate::support::{Outcome, SOON, command, count, held_key, push, soon, start};

#[test]
fn a_job_pushed_as_raw_json_is_handed_over_byte_for_byte() -> Outcome {
    let redis = TestRedis::start()?;
    let _worker = start(&redis, &[])?;
    let args = r#"["out",123456789012345678901234567890,1.0,[],{}]"#;
    push(&redis, "RecordJob", args, "0123456789abcdef01234567");
    assert!(soon(|| count(&redis, &["LLEN", "out"]) == 1));
    assert_eq!(redis.cli(&["LRANGE", "out", "0", "-1"]).strings(), [args]);
    Ok(())
}

#[test]
fn kill_minus_9_leaves_the_job_on_the_in_progress_list_orph_14() -> Outcome {
    let redis = TestRedis::start()?;
    let mut worker = start(&redis, &[])?;
    push(&redis, "SleepJob", "[60]", "interrupted");
    assert!(soon(|| count(&redis, &["LLEN", &held_key(&redis)]) == 1));
    worker.kill();
    let held = redis.cli(&["LRANGE", &held_key(&redis), "0", "-1"]).strings();
    assert!(held.len() == 1 && held[0].contains("interrupted"));
    assert_eq!(count(&redis, &["LLEN", "cogworker:queue:default"]), 0);
    assert_eq!(redis.cli(&["SCARD", "cogworker:inprogress_identities"]), 1, "others can find the list");
    Ok(())
}

#[test]
fn a_job_that_aborts_the_process_is_kept_too() -> Outcome {
    let redis = TestRedis::start()?;
    let mut worker = start(&redis, &[])?;
    push(&redis, "CrashJob", "[]", "crash");
    assert!(!worker.wait(SOON)?.success());
    assert_eq!(count(&redis, &["LLEN", &held_key(&redis)]), 1);
    Ok(())
}

#[test]
fn progress_is_reported_stat_05() -> Outcome {
    let redis = TestRedis::start()?;
    let _worker = start(&redis, &[])?;
    push(&redis, "ImportJob", "[5]", "import");
    assert!(soon(|| redis.cli(&["HGET", "status:import", "rows"]) == "5"));
    assert_eq!(redis.cli(&["HMGET", "status:import", "pct", "message"]).strings(), ["100", "row 5 of 5"]);
    assert!(count(&redis, &["TTL", "status:import"]) > 1700);
    Ok(())
}

#[test]
fn redis_away_at_boot_is_told_once_and_term_is_honoured() -> Outcome {
    let redis = TestRedis::start()?;
    redis.kill();
    let mut command = command(&[]);
    command.env("REDIS_URL", redis.url());
    let mut worker = WorkerProcess::spawn_command(command)?;
    worker.wait_for_log("redis is away", SOON)?;
    // Time for further attempts, which must not be told.
    assert!(!wait_until(std::time::Duration::from_secs(3), || worker.log().len() > 1));
    worker.signal("TERM")?;
    assert_eq!(worker.wait(SOON)?.code(), Some(0));
    Ok(())
}

#[test]
fn an_outage_while_running_is_one_line_at_its_start_and_one_at_its_end() -> Outcome {
    let redis = TestRedis::start()?;
    let worker = start(&redis, &[])?;
    redis.kill();
    worker.wait_for_log("redis is away", SOON)?;
    redis.restart()?;
    worker.wait_for_log("redis is back", SOON)?;
    push(&redis, "RecordJob", "[\"out\"]", "after");
    assert!(soon(|| count(&redis, &["LLEN", "out"]) == 1));
    let told = |text: &str| worker.log().iter().filter(|line| line.contains(text)).count();
    assert_eq!((told("redis is away"), told("redis is back")), (1, 1), "{:#?}", worker.log());
    Ok(())
}
