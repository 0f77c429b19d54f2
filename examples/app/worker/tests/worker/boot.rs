//! Redis away at the start, and the environment's name.

use std::time::Duration;

use cogworker_testing::{TestRedis, wait_until};

use crate::support::{
    Case, SOON, TestResult, exit_code, processed, push, reach, spawn, spawn_with, texts, working,
};

#[test]
fn redis_away_at_boot_is_logged_once_and_term_ends_the_wait_with_exit_code_0() -> TestResult {
    let redis = TestRedis::start()?;
    redis.stop();
    let mut worker = spawn(&redis, &[])?;
    let told = worker.wait_for_log("redis is away", SOON)?;
    let place =
        format!("(connecting to redis://127.0.0.1:{}/0, from env REDIS_URL: failed to ", redis.port());
    assert!(told.contains(&place), "{told}");
    let more = wait_until(Duration::from_secs(2), || worker.log().len() > 1);
    assert!(!more, "{:#?}", worker.log());
    worker.signal("TERM")?;
    assert_eq!(exit_code(&mut worker)?, Some(0));
    worker.wait_for_log("stopped before redis was reached", SOON)?;
    Ok(())
}

#[test]
fn a_redis_that_comes_and_goes_costs_two_log_lines_an_outage() -> TestResult {
    let redis = TestRedis::start()?;
    redis.stop();
    let worker = spawn(&redis, &[])?;
    let count = |text: &str| worker.log().iter().filter(|line| line.contains(text)).count();
    for outage in 1..=2 {
        reach("told once", || count("redis is away") == outage)?;
        redis.restart()?;
        push(&redis, "NoopJob", "[]", "j")?;
        reach("it works", || processed(&redis) >= 1)?;
        reach("told that it is over", || count("redis is back") == outage)?;
        if outage == 1 {
            redis.stop();
        }
    }
    let others: Vec<String> = worker.log().into_iter().filter(|line| line.contains("ERROR")).collect();
    assert!(others.is_empty(), "{others:#?}");
    Ok(())
}

#[test]
fn the_environments_name_is_exported_under_all_three_names_conf_10_conf_11() -> TestResult {
    let cases: [Case<'_>; 4] = [
        (&["-e", "staging"], &[("APP_ENV", "test")], "staging"),
        (&[], &[("RAILS_ENV", "production")], "production"),
        (&[], &[("RACK_ENV", "x"), ("APP_ENV", "y")], "y"),
        (&[], &[], "development"),
    ];
    let redis = TestRedis::start()?;
    for (args, variables, name) in cases {
        let worker = spawn_with(&redis, args, variables)?;
        let exported = || -> Option<Vec<String>> {
            let environ = std::fs::read(format!("/proc/{}/environ", worker.pid())).ok()?;
            let environ = String::from_utf8_lossy(&environ).into_owned();
            let value = |variable: &str| {
                environ
                    .split('\0')
                    .find_map(|pair| pair.strip_prefix(&format!("{variable}=")).map(str::to_owned))
            };
            ["APP_ENV", "RAILS_ENV", "RACK_ENV"].into_iter().map(value).collect()
        };
        reach(name, || exported().is_some_and(|all| all == [name; 3]))?;
    }
    Ok(())
}

#[test]
fn a_paused_queue_at_boot_is_no_error_and_costs_no_cpu_p_51() -> TestResult {
    let redis = TestRedis::start()?;
    redis.command(&["SADD", "cogworker:paused_queues", "default"])?;
    push(&redis, "NoopJob", "[]", "j")?;
    let (worker, _) = working(&redis, &["-q", "default", "-q", "low"], &[])?;
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", worker.pid())).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    let before = ticks().ok_or("its CPU time")?;
    assert!(!wait_until(Duration::from_secs(3), || processed(&redis) > 0), "ran while paused");
    let used = ticks().ok_or("its CPU time")? - before;
    assert!(used < 15, "{used} hundredths of a second in three seconds");
    let odd: Vec<String> = worker.log().into_iter().filter(|line| !line.contains("INFO")).collect();
    assert!(odd.is_empty(), "{odd:#?}");
    redis.command(&["SREM", "cogworker:paused_queues", "default"])?;
    assert!(wait_until(Duration::from_secs(2), || processed(&redis) == 1), "not run within 2 s");
    Ok(())
}

#[test]
fn registries_of_the_wrong_type_are_told_one_by_one_and_fail_no_beat_beat_09() -> TestResult {
    let redis = TestRedis::start()?;
    // They would be moved away otherwise.
    redis.cli(&["ACL", "SETUSER", "default", "-renamenx"]);
    let registries = ["processes", "inprogress_identities", "last_beat", "queues", "live_queues"];
    for registry in registries {
        redis.cli(&["SET", &format!("cogworker:{registry}"), "odd"]);
    }
    let worker = spawn(&redis, &[])?;
    worker.wait_for_log("is working on", SOON)?;
    let told: Vec<String> =
        worker.log().into_iter().filter(|line| line.contains("the heartbeat could not")).collect();
    let names = ["process registry", "in-progress registry", "last beats", "queue registry", "live queues"];
    for name in names {
        let line = format!("the heartbeat could not write the {name}: failed to use a redis key: WRONGTYPE");
        assert_eq!(told.iter().filter(|told| told.contains(&line)).count(), 1, "{name}: {told:#?}");
    }
    assert_eq!(told.len(), names.len(), "{told:#?}");
    let presence = texts(&redis, &["KEYS", "cogworker:process:*"]);
    assert!(presence.len() == 1 && presence[0].contains(&format!(":{}:", worker.pid())), "{presence:?}");
    Ok(())
}

#[test]
fn the_end_of_an_outage_is_told_though_nothing_is_pushed() -> TestResult {
    let redis = TestRedis::start()?;
    let (worker, _) = working(&redis, &[], &[])?;
    redis.stop();
    worker.wait_for_log("redis is away", SOON)?;
    redis.restart()?;
    worker.wait_for_log("redis is back", SOON)?;
    Ok(())
}
