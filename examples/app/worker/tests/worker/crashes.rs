//! Processes that die in the middle of their work.

use std::collections::HashSet;

use cogworker_testing::TestRedis;

use crate::support::{TestResult, held, int, push, reach, spawn, texts, working};

#[test]
fn a_killed_worker_leaves_its_job_on_its_in_progress_list() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut worker, identity) = working(&redis, &[], &[])?;
    push(&redis, "SleepJob", "[60]", "j")?;
    reach("it runs", || held(&redis, &identity) == 1)?;
    let raw = texts(&redis, &["LRANGE", &format!("cogworker:inprogress:{identity}"), "0", "-1"]);
    worker.kill();
    assert_eq!(raw, [r#"{"class":"SleepJob","args":[60],"queue":"default","jid":"j"}"#]);
    assert_eq!((held(&redis, &identity), int(&redis, &["LLEN", "cogworker:queue:default"])), (1, 0));
    assert_eq!(int(&redis, &["SISMEMBER", "cogworker:inprogress_identities", &identity]), 1);
    assert!(int(&redis, &["HGET", "cogworker:last_beat", &identity]) > 0);
    Ok(())
}

#[test]
fn a_job_that_takes_the_process_down_stays_in_progress() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut worker, identity) = working(&redis, &[], &[])?;
    push(&redis, "CrashJob", "[]", "j")?;
    let status = worker.wait(crate::support::SOON)?;
    assert!(!status.success());
    assert_eq!(held(&redis, &identity), 1);
    Ok(())
}

#[test]
fn a_restarted_worker_has_another_identity_p_10() -> TestResult {
    let redis = TestRedis::start()?;
    let (mut first, old) = working(&redis, &[], &[("DYNO", "web.1")])?;
    first.kill();
    let (_second, new) = working(&redis, &[], &[("DYNO", "web.1")])?;
    assert!(old.starts_with("web.1:") && new.starts_with("web.1:"));
    assert_ne!(old.rsplit(':').next(), new.rsplit(':').next());
    Ok(())
}

#[test]
fn pollers_killed_while_they_move_due_jobs_lose_and_double_none_p_21() -> TestResult {
    let redis = TestRedis::start()?;
    for round in 0..3 {
        let script = "for n = 1, 10000 do redis.call('ZADD', 'cogworker:schedule', n, '{\"class\":\"NoopJob\",\"args\":[' \
                      .. n .. '],\"queue\":\"many\",\"jid\":\"' .. n .. '\"}') end";
        redis.command(&["EVAL", script, "0"])?;
        let mut workers = (0..3).map(|_| spawn(&redis, &["-q", "unused"])).collect::<Result<Vec<_>, _>>()?;
        reach("some have moved", || int(&redis, &["LLEN", "cogworker:queue:many"]) > 1000 * round)?;
        workers[0].kill();
        reach("all have moved", || int(&redis, &["ZCARD", "cogworker:schedule"]) == 0)?;
        let jobs = texts(&redis, &["LRANGE", "cogworker:queue:many", "0", "-1"]);
        let jids: HashSet<&str> = jobs.iter().filter_map(|job| job.split(r#""jid":"#).nth(1)).collect();
        assert_eq!((jobs.len(), jids.len()), (10_000, 10_000));
        redis.command(&["FLUSHALL"])?;
    }
    Ok(())
}
