//! A keyspace that the Ruby gem wrote is read as it is.

use serde_json::Value;

use crate::support::{Outcome, Site};

const WHILE_RUNNING: &str = include_str!("../../../core/tests/wire/keyspace-while-running.json");

/// Stores a recorded key.
fn store(site: &Site, key: &Value) -> Outcome {
    let name = key["key"].as_str().ok_or("no name")?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let flat = |value: &Value| -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().map(text).collect(),
            Value::Object(fields) => {
                fields.iter().flat_map(|(field, value)| [field.clone(), text(value)]).collect()
            }
            other => vec![text(other)],
        }
    };
    let (command, args) = match key["type"].as_str().ok_or("no type")? {
        "string" => ("SET", flat(&key["value"])),
        "list" => ("RPUSH", flat(&key["value"])),
        "set" => ("SADD", flat(&key["value"])),
        "hash" => ("HSET", flat(&key["value"])),
        "zset" => {
            let pairs = key["value"].as_array().ok_or("no entries")?;
            ("ZADD", pairs.iter().flat_map(|pair| [text(&pair[1]), text(&pair[0])]).collect())
        }
        other => return Err(format!("a {other}").into()),
    };
    site.redis.cli(&[&[command.to_owned(), name.to_owned()], &args[..]].concat());
    Ok(())
}

#[test]
fn what_the_gem_wrote_is_shown_filtered_and_put_back() -> Outcome {
    let site = Site::start()?;
    let keys: Vec<Value> = serde_json::from_str(WHILE_RUNNING)?;
    for key in &keys {
        store(&site, key)?;
    }
    let zset = |name: &str| {
        let key = keys.iter().find(|key| key["key"] == name);
        key.and_then(|key| key["value"].as_array()).map_or(0, Vec::len)
    };
    let json = |args: &[&str]| -> Result<Vec<Value>, Box<dyn std::error::Error>> {
        let ran = site.run(&[args, &["--json"]].concat())?;
        ran.done().lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let stats = json(&["stats"])?;
    assert_eq!(stats[0]["dead"], zset("cogworker:dead"));
    assert_eq!(stats[0]["scheduled"], zset("cogworker:schedule"));
    assert_eq!(stats[0]["processes"], 1);
    let processes = json(&["processes"])?;
    assert!(
        processes[0]["pid"].as_u64() > Some(0)
            && processes[0]["queues"].as_array().is_some_and(|it| !it.is_empty())
    );
    for set in ["schedule", "retry", "dead"] {
        let jobs = json(&["jobs", set, "list"])?;
        assert_eq!(jobs.len(), zset(&format!("cogworker:{set}")), "{set}");
        assert!(jobs.iter().all(|job| job["job"]["class"].is_string()), "{set}");
    }
    let dead = json(&["jobs", "dead", "list", "--class", "DeadNowJob", "--error", "dead AT once"])?;
    assert_eq!(dead.len(), 1);
    assert_eq!(
        site.run(&["jobs", "dead", "retry-all", "--class", "DeadNowJob", "--yes", "--json"])?.done(),
        "{\"in\":\"dead\",\"requeued\":1,\"left\":0}\n"
    );
    let waiting = site.redis.cli(&["LINDEX", "cogworker:queue:low", "0"]);
    let waiting = waiting.as_str().ok_or("nothing waits")?;
    assert!(
        waiting.contains(r#""class":"DeadNowJob","args":[],"jid":"b99f97e93a1fb2b0e11d788d""#),
        "{waiting}"
    );
    for args in [&["queues"][..], &["cron", "list"], &["processes"], &["jobs", "retry", "list"]] {
        assert!(site.run(args)?.done().lines().count() > 1, "{args:?}");
    }
    let doctor = site.run(&["doctor", "--json"])?;
    assert!(doctor.out.contains(r#"{"check":"types","level":"ok""#), "{doctor:?}");
    Ok(())
}
