//! `doctor`.

use std::process::Command;

use cogworker_testing::{TestRedis, TestRedisOptions};

use crate::support::{Outcome, Ran, Site, program, ran};

/// The findings of a level, as `check: found`.
fn findings(ran: &Ran, level: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for line in ran.out.lines() {
        let finding: serde_json::Value = serde_json::from_str(line)?;
        if finding["level"] == level {
            found.push(format!(
                "{}: {}",
                finding["check"].as_str().unwrap_or(""),
                finding["found"].as_str().unwrap_or("")
            ));
            assert_eq!(level != "ok", finding["advice"].is_string(), "{line}: what to do");
        }
    }
    Ok(found)
}

#[test]
fn a_sound_site_is_ok_and_an_empty_one_only_lacks_a_worker() -> Outcome {
    let site = Site::start()?;
    let empty = site.run(&["doctor", "--json"])?;
    assert_eq!(empty.code, 0, "{empty:?}");
    assert_eq!(findings(&empty, "warning")?, ["processes: none is running"]);
    assert_eq!(findings(&empty, "problem")?, [""; 0]);
    site.process("h:1:a", r#"{"queues":["q"]}"#, "0", "false");
    site.redis.cli(&["SADD", "cogworker:queues", "q", "empty"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:q", "{}"]);
    let sound = site.run(&["doctor"])?;
    let lines: Vec<&str> = sound.done().lines().collect();
    assert_eq!(lines.len(), 11, "{sound:?}");
    assert!(lines.iter().all(|line| line.starts_with("ok       ")), "{sound:?}");
    assert_eq!(lines[2], "ok       eviction        noeviction");
    assert_eq!(lines[8], "ok       queues          2 queues, each read or empty");
    Ok(())
}

#[test]
fn each_thing_that_is_wrong_is_told_with_what_to_do_and_by_the_exit_code() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["SET", "cogworker:retry", "x"]);
    site.redis.cli(&["SADD", "cogworker:queues", "unread ü", "paused", "read"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:unread ü", "{}", "{}"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:paused", "{}"]);
    site.redis.cli(&["SADD", "cogworker:paused_queues", "paused"]);
    site.redis.cli(&["SADD", "cogworker:inprogress_identities", "h:9:dead", "h:8:done"]);
    site.redis.cli(&["LPUSH", "cogworker:inprogress:h:9:dead", "{}", "{}", "{}"]);
    site.redis.cli(&["LPUSH", "cogworker:unsettled", "{}"]);
    site.redis.cli(&["LPUSH", "cogworker:quarantine:cogworker:unsettled:records", "x", "y"]);
    site.redis.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    site.process("h:1:a", r#"{"queues":["read","paused"]}"#, "0", "false");
    let ran = site.run(&["doctor", "--json"])?;
    assert_eq!((ran.code, &*ran.err), (1, ""), "{ran:?}");
    assert_eq!(
        findings(&ran, "problem")?,
        [
            "types: wrong type: cogworker:retry (a string, should be a zset)",
            "queues: read by nobody: \"unread ü\" (2 jobs)"
        ]
    );
    assert_eq!(
        findings(&ran, "warning")?,
        [
            "eviction: allkeys-lru",
            "queues: paused: \"paused\" (1 job)",
            "dead processes: holding jobs: h:9:dead (3 jobs)",
            "unsettled: 1 outcome left by stopped processes",
            "unsettled: 2 records that cannot be used",
        ]
    );
    site.redis.cli(&["CONFIG", "SET", "maxmemory", "100mb"]);
    site.redis.cli(&["HSET", "cogworker:process:h:1:a", "quiet", "true"]);
    let ran = site.run(&["doctor", "--json"])?;
    let problems = findings(&ran, "problem")?;
    assert!(problems.contains(&"eviction: allkeys-lru".into()), "{problems:?}");
    assert!(problems.contains(&"processes: 1 process, all quiet".into()), "{problems:?}");
    site.redis.cli(&["DEL", "cogworker:processes"]);
    let problems = findings(&site.run(&["doctor", "--json"])?, "problem")?;
    assert!(problems.contains(&"processes: none is running".into()), "{problems:?}");
    assert!(problems.contains(&"dead processes: holding jobs: h:9:dead (3 jobs)".into()), "{problems:?}");
    Ok(())
}

#[test]
fn a_redis_that_is_nearly_full_or_cannot_save_is_a_problem() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["CONFIG", "SET", "maxmemory", "50mb"]);
    site.redis.cli(&["EVAL", "redis.call('SET', KEYS[1], string.rep('x', 47 * 1024 * 1024))", "1", "filler"]);
    // A folder stands where the snapshot would go.
    std::fs::create_dir(site.redis.folder().join("dump.rdb"))?;
    let _ = site.redis.command(&["BGSAVE"]);
    let failed = || site.redis.info("rdb_last_bgsave_status").is_ok_and(|it| it.as_deref() == Some("err"));
    assert!(cogworker_testing::wait_until(std::time::Duration::from_secs(10), failed));
    let problems = findings(&site.run(&["doctor", "--json"])?, "problem")?;
    assert!(
        problems.iter().any(|it| it.starts_with("memory: 4") && it.ends_with(" of 50.0 MiB")),
        "{problems:?}"
    );
    assert!(problems.iter().any(|it| it.starts_with("persistence: the last save failed")), "{problems:?}");
    Ok(())
}

#[test]
fn an_old_redis_and_a_replica_are_problems() -> Outcome {
    let old = TestRedisOptions::new().version("6.0").start()?;
    let ran_old = ran(program(["doctor", "--json"]).env("REDIS_URL", old.url()))?;
    assert!(findings(&ran_old, "problem")?.contains(&"version: 6.0".into()), "{ran_old:?}");
    let (primary, replica) = (TestRedis::start()?, TestRedis::start()?);
    replica.cli(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    let ran = ran(program(["doctor", "--json"]).env("REDIS_URL", replica.url()))?;
    let problems = findings(&ran, "problem")?;
    assert!(ran.code == 1 && problems.iter().any(|it| it.starts_with("connection: ")), "{ran:?}");
    Ok(())
}

#[test]
fn a_user_without_the_rights_is_told_which_checks_could_not_be_made() -> Outcome {
    let site = Site::start()?;
    let rights = ["~*", "&*", "+@all", "-info", "-llen"];
    site.redis.cli(&[&["ACL", "SETUSER", "few", "on", ">pw"], &rights[..]].concat());
    let url = format!("redis://few:pw@127.0.0.1:{}", site.redis.port());
    let ran = ran(program(["doctor", "--json"]).env("REDIS_URL", url))?;
    let warnings = findings(&ran, "warning")?;
    assert!(
        warnings.iter().any(|it| it.starts_with("server: could not be checked: ") && it.contains("NOPERM")),
        "{ran:?}"
    );
    assert!(!ran.out.contains("pw@"), "{ran:?}");
    Ok(())
}

#[test]
fn a_redis_that_is_away_is_the_finding_and_the_exit_code() -> Outcome {
    let site = Site::start()?;
    site.redis.stop();
    let mut command: Command = site.command(&["doctor"]);
    let ran = ran(&mut command)?;
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.out.starts_with("PROBLEM  connection      failed to connect to redis://127.0.0.1:"),
        "{ran:?}"
    );
    Ok(())
}
