//! `jobs (schedule|retry|dead) …`.

use crate::support::{Outcome, Site, from_time};

const NO_TERMINAL: &str = "there is no terminal to ask on, so add --yes to do it";

#[test]
fn each_set_is_listed_in_its_own_order_with_what_matters_in_it() -> Outcome {
    let site = Site::start()?;
    for set in ["schedule", "retry", "dead"] {
        assert_eq!(site.run(&["jobs", set, "list"])?.done(), format!("no jobs in {set}\n"));
        site.fill(set, 3);
    }
    let lines = |set| -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let ran = site.run(&["jobs", set, "list"])?;
        Ok(ran.done().lines().map(|line| from_time(line).to_owned()).collect())
    };
    let schedule = lines("schedule")?;
    assert!(schedule[0].ends_with("JID  CLASS  QUEUE  ARGS"), "{schedule:?}");
    assert_eq!(schedule[1], "(1970-01-01 00:00:01)  j1   B      q      [1]");
    let retry = lines("retry")?;
    assert!(retry[0].ends_with("JID  CLASS  QUEUE  FAILED  ARGS  ERROR"), "{retry:?}");
    assert_eq!(retry[1], "(1970-01-01 00:00:01)  j1   B      q           0  [1]   IOError: m");
    let dead = lines("dead")?;
    assert_eq!(dead[1], "(1970-01-01 00:00:03)  j3   B      q      [3]   Timeout: m", "the newest first");
    let json = site.run(&["jobs", "dead", "list", "--json", "--limit", "1"])?;
    let job = r#"{"class":"B","jid":"j3","queue":"q","args":[3],"error_class":"Timeout","error_message":"m","failed_at":3.0}"#;
    assert_eq!(json.done(), format!("{{\"in\":\"dead\",\"at\":3.0,\"job\":{job}}}\n"));
    Ok(())
}

#[test]
fn a_filter_finds_by_class_error_age_and_damage_over_many_slices() -> Outcome {
    let site = Site::start()?;
    for set in ["retry", "dead"] {
        site.fill(set, 2400);
        site.redis.cli(&["ZADD", &format!("cogworker:{set}"), "7.5", "no job", "9999999999", "[1]"]);
        let count = |filter: &[&str]| -> Result<usize, Box<dyn std::error::Error>> {
            let args = [&["jobs", set, "list", "--json", "--limit", "0"][..], filter].concat();
            Ok(site.run(&args)?.done().lines().count())
        };
        assert_eq!(count(&[])?, 2402);
        assert_eq!(count(&["--class", "A"])?, 1200);
        assert_eq!(count(&["--class", "a"])?, 0);
        assert_eq!(count(&["--error", "tIMEout: M"])?, 800);
        assert_eq!(count(&["--class", "A", "--error", "timeout"])?, 400);
        assert_eq!(count(&["--damaged"])?, 2);
        assert_eq!(count(&["--older-than", "100000days"])?, 0);
        assert_eq!(count(&["--older-than", "1h", "--class", "B"])?, 1200);
    }
    let newest = site.run(&["jobs", "dead", "list", "--class", "A", "--limit", "2"])?;
    let lines = newest.lines();
    assert!(
        lines[1].contains("j2400") && lines[2].contains("j2398") && lines[3] == "… and 1,198 more",
        "{lines:?}"
    );
    let first = site.run(&["jobs", "retry", "list", "--class", "A", "--limit", "1"])?;
    assert!(first.lines()[1].contains(" j2 "), "{first:?}");
    Ok(())
}

#[test]
fn jobs_are_retried_and_deleted_by_their_ids_in_any_set() -> Outcome {
    for set in ["schedule", "retry", "dead"] {
        let site = Site::start()?;
        site.fill(set, 1500);
        let retried = site.run(&["jobs", set, "retry", "j3", "j1400"])?;
        assert_eq!(retried.done(), "j3: requeued\nj1400: requeued\n");
        assert_eq!(site.redis.cli(&["LLEN", "cogworker:queue:q"]), 2);
        let asked = site.run(&["jobs", set, "delete", "j5", "j6"])?;
        asked.failed(4, &format!("cogworker: would delete 2 jobs from {set}: {NO_TERMINAL}"));
        let deleted = site.run(&["jobs", set, "delete", "j5", "--yes", "--json"])?;
        assert_eq!(deleted.done(), format!("{{\"jid\":\"j5\",\"in\":\"{set}\",\"done\":\"deleted\"}}\n"));
        assert_eq!(site.redis.cli(&["ZCARD", &format!("cogworker:{set}")]), 1497);
        for action in ["retry", "delete"] {
            let unknown = site.run(&["jobs", set, action, "j1", "nope", "j", "--yes"])?;
            unknown.failed(1, &format!("cogworker: no such job in {set}: nope, j; nothing was done"));
        }
        assert_eq!(site.redis.cli(&["ZCARD", &format!("cogworker:{set}")]), 1497, "j1 is still there");
    }
    Ok(())
}

#[test]
fn what_cannot_be_retried_stays_and_is_an_error() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["ZADD", "cogworker:dead", "1", r#"{"class":"A","jid":"homeless"}"#]);
    let unique = r#"{"class":"A","jid":"twin","queue":"q","args":[],"unique":"until_executed"}"#;
    site.redis.cli(&["ZADD", "cogworker:dead", "2", unique]);
    site.run(&["push", "A", "--queue", "q", "--set", "unique=\"until_executed\""])?.done();
    site.run(&["jobs", "dead", "retry", "homeless"])?
        .failed(1, "cogworker: homeless stays in dead: it names no queue");
    site.run(&["jobs", "dead", "retry", "twin"])?
        .failed(1, "cogworker: twin stays in dead: an equal unique job is under way");
    let all = site.run(&["jobs", "dead", "retry-all", "--yes"])?;
    assert_eq!((all.code, &*all.out), (1, "0 jobs of dead put on their queues\n"));
    assert!(all.err.starts_with("cogworker: 2 jobs stay where they are"), "{all:?}");
    assert_eq!(site.redis.cli(&["ZCARD", "cogworker:dead"]), 2);
    Ok(())
}

#[test]
fn all_that_are_meant_are_deleted_and_no_other() -> Outcome {
    let site = Site::start()?;
    site.fill("dead", 2400);
    site.redis.cli(&["ZADD", "cogworker:dead", "7.5", "no job", "9999999999", "[1]"]);
    let asked = site.run(&[
        "jobs",
        "dead",
        "delete-all",
        "--class",
        "A",
        "--error",
        "timeout",
        "--older-than",
        "2days",
    ])?;
    let what = "delete 400 jobs of class A, with \"timeout\" in their error, older than 2days from dead";
    asked.failed(4, &format!("cogworker: would {what}: {NO_TERMINAL}"));
    let deleted = site.run(&["jobs", "dead", "delete-all", "--class", "A", "--error", "timeout", "--yes"])?;
    assert_eq!(deleted.done(), "400 jobs deleted from dead\n");
    assert_eq!(site.redis.cli(&["ZCARD", "cogworker:dead"]), 2002);
    let deleted = site.run(&["jobs", "dead", "delete-all", "--damaged", "-y", "--json"])?;
    assert_eq!(deleted.done(), "{\"in\":\"dead\",\"deleted\":2}\n");
    let none = site.run(&["jobs", "dead", "delete-all", "--class", "Nope"])?;
    assert_eq!(none.done(), "0 jobs deleted from dead\n", "nothing to ask about");
    let asked = site.run(&["jobs", "dead", "delete-all"])?;
    asked.failed(4, &format!("cogworker: would delete 2,000 jobs from dead: {NO_TERMINAL}"));
    assert_eq!(site.run(&["jobs", "dead", "delete-all", "--yes"])?.done(), "2,000 jobs deleted from dead\n");
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:dead"]), 0);
    Ok(())
}

#[test]
fn all_that_are_meant_are_put_back_the_rest_stays() -> Outcome {
    let site = Site::start()?;
    site.fill("retry", 1200);
    site.redis.cli(&["ZADD", "cogworker:retry", "0", "no job"]);
    let asked = site.run(&["jobs", "retry", "retry-all", "--class", "B"])?;
    asked.failed(
        4,
        &format!("cogworker: would put 600 jobs of class B of retry on their queues: {NO_TERMINAL}"),
    );
    let some = site.run(&["jobs", "retry", "retry-all", "--class", "B", "--yes", "--json"])?;
    assert_eq!(some.done(), "{\"in\":\"retry\",\"requeued\":600,\"left\":0}\n");
    let waiting = site.redis.cli(&["LRANGE", "cogworker:queue:q", "-1", "-1"]).strings();
    assert!(waiting[0].contains("\"jid\":\"j1\""), "the next due is taken first");
    let rest = site.run(&["jobs", "retry", "retry-all", "--yes"])?;
    assert_eq!((rest.code, &*rest.out), (1, "600 jobs of retry put on their queues\n"));
    assert!(rest.err.starts_with("cogworker: 1 job stays where they are: damaged"), "{rest:?}");
    assert_eq!(site.redis.cli(&["ZCARD", "cogworker:retry"]), 1);
    Ok(())
}

#[test]
fn a_refusal_on_the_way_says_how_far_it_got() -> Outcome {
    let site = Site::start()?;
    site.fill("dead", 700);
    site.redis.cli(&["SET", "cogworker:queue:q", "no list"]);
    let refused = site.run(&["jobs", "dead", "retry-all", "--yes"])?;
    assert_eq!((refused.code, &*refused.out), (1, "0 jobs of dead put on their queues\n"));
    assert!(refused.err.contains("700 jobs stay") && refused.err.contains("WRONGTYPE"), "{refused:?}");
    assert_eq!(site.redis.cli(&["ZCARD", "cogworker:dead"]), 700);
    Ok(())
}

#[test]
fn a_set_of_the_wrong_type_is_named_with_what_redis_says() -> Outcome {
    let site = Site::start()?;
    for (set, key) in
        [("schedule", "cogworker:schedule"), ("retry", "cogworker:retry"), ("dead", "cogworker:dead")]
    {
        site.redis.cli(&["SET", key, "x"]);
        for action in
            [&["list"][..], &["retry", "j"], &["delete", "j", "-y"], &["retry-all", "-y"], &["delete-all"]]
        {
            let ran = site.run(&[&["jobs", set][..], action].concat())?;
            assert_eq!((ran.code, &*ran.out), (1, ""), "{ran:?}");
            assert!(ran.err.starts_with("cogworker: failed to ") && ran.err.contains("WRONGTYPE"), "{ran:?}");
        }
        assert_eq!(site.redis.cli(&["GET", key]), "x");
    }
    Ok(())
}

#[test]
fn wrong_words_are_usage_errors() -> Outcome {
    let site = Site::start()?;
    for args in [
        &["jobs", "living", "list"][..],
        &["jobs", "dead"],
        &["jobs", "dead", "retry"],
        &["jobs", "dead", "list", "--older-than", "soon"],
        &["jobs", "dead", "list", "--limit", "-1"],
        &["queue", "q"],
        &["queue", "q", "burn"],
        &["stats", "extra"],
        &["nonsense"],
        &[],
    ] {
        let ran = site.run(args)?;
        assert_eq!((ran.code, &*ran.out), (2, ""), "{args:?}: {ran:?}");
        assert!(ran.err.contains("Usage:") || ran.err.contains("--help"), "{ran:?}");
    }
    Ok(())
}
