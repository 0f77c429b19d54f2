//! The example's jobs, from the queue to their effect.

use cogworker_testing::TestRedis;

use crate::support::{SOON, TestResult, int, processed, push, reach, texts, working};

#[test]
fn a_record_job_hands_its_exact_bytes_on_p_03() -> TestResult {
    let redis = TestRedis::start()?;
    let (_worker, _) = working(&redis, &[], &[])?;
    let args = r#"["out", 130775545883395173,1.0,[],{},{"b":1, "a":1e20,"b":2},"\u00e9\/",-0.0,null]"#;
    push(&redis, "RecordJob", args, "j")?;
    reach("it ran", || processed(&redis) == 1)?;
    assert_eq!(texts(&redis, &["LRANGE", "out", "0", "-1"]), [args]);
    Ok(())
}

#[test]
fn a_greeting_is_logged_and_a_wrong_one_says_which_argument() -> TestResult {
    let redis = TestRedis::start()?;
    let (worker, _) = working(&redis, &[], &[])?;
    push(&redis, "GreetingJob", r#"["world"]"#, "good")?;
    push(&redis, "GreetingJob", "[5]", "bad")?;
    push(&redis, "GreetngJob", "[]", "unknown")?;
    push(&redis, "PanicJob", "[]", "panic")?;
    let lines = [
        // What a job logs itself says which job it is.
        "INFO: Hello, world! jid=good class=GreetingJob queue=default",
        "ArgumentError: GreetingJob argument 1: invalid type: integer `5`",
        "NameError: uninitialized constant GreetngJob (no handler is registered for it; did you mean GreetingJob?)",
        "Panic: this job panics",
    ];
    for line in lines {
        worker.wait_for_log(line, SOON)?;
    }
    reach("three retries", || int(&redis, &["ZCARD", "cogworker:retry"]) == 3)
}

#[test]
fn an_import_job_reports_its_progress() -> TestResult {
    let redis = TestRedis::start()?;
    let (_worker, _) = working(&redis, &[], &[])?;
    push(&redis, "ImportJob", "[4]", "j")?;
    reach("it ran", || processed(&redis) == 1)?;
    let status = texts(&redis, &["HMGET", "status:j", "pct", "message", "rows"]);
    assert_eq!(status, ["100", "row 4 of 4", "4"]);
    assert!((1..=1800).contains(&int(&redis, &["TTL", "status:j"])));
    Ok(())
}

#[test]
fn a_flaky_job_succeeds_once_its_failures_are_used_up() -> TestResult {
    let redis = TestRedis::start()?;
    let (_worker, _) = working(&redis, &[], &[])?;
    push(&redis, "FlakyJob", "[2]", "j")?;
    for _ in 0..2 {
        reach("the retry", || int(&redis, &["ZCARD", "cogworker:retry"]) == 1)?;
        let entry = texts(&redis, &["ZRANGE", "cogworker:retry", "0", "0"]).concat();
        redis.command(&["ZADD", "cogworker:retry", "1", &entry])?;
        redis.command(&["PUBLISH", "cogworker:wake", ""])?;
        reach("it is taken", || !texts(&redis, &["ZRANGE", "cogworker:retry", "0", "0"]).contains(&entry))?;
    }
    reach("it succeeded", || processed(&redis) == 1)?;
    assert_eq!(int(&redis, &["GET", "cogworker:stats:failed"]), 2);
    Ok(())
}
