//! `stats`, `queues` and `queue`.

use crate::support::{Outcome, Site, from_time};

/// Names that a queue may have.
const ODD: [&str; 8] = ["message", "a b", "a:b", "größe 日本", "subscribe", "x'\"$(y)", "list", "delete"];

#[test]
fn stats_are_aligned_for_people_and_one_document_for_programs() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["SET", "cogworker:stats:processed", "1234567"]);
    site.redis.cli(&["SADD", "cogworker:queues", "q"]);
    site.redis.cli(&["LPUSH", "cogworker:queue:q", "{}", "{}"]);
    site.fill("dead", 3);
    site.redis.cli(&["SET", "cogworker:retry", "no set"]);
    site.process("h:1:a", "{}", "4", "false");
    let expected = "processed   1,234,567\nfailed              0\nprocesses           1\nbusy                4\n\
                    enqueued            2\nscheduled           0\nretrying   wrong type\ndead                3\n\
                    latency            0s\n";
    assert_eq!(site.run(&["stats"])?.done(), expected);
    let json = site.run(&["stats", "--json"])?;
    let json = json.done();
    assert!(json.starts_with("{\"time\":1") && json.ends_with("}\n"), "{json}");
    assert!(
        json.contains(
            r#","processed":1234567,"failed":0,"processes":1,"busy":4,"enqueued":2,"scheduled":0,"retrying":null,"dead":3,"latency":0.0}"#
        ),
        "{json}"
    );
    Ok(())
}

#[test]
fn queues_of_any_names_are_shown_with_size_state_and_readers() -> Outcome {
    let site = Site::start()?;
    assert_eq!(site.run(&["queues"])?.done(), "no queues yet\n");
    assert_eq!(site.run(&["queues", "--json"])?.done(), "");
    for name in ODD {
        site.redis.cli(&["SADD", "cogworker:queues", name]);
    }
    site.redis.cli(&["SADD", "cogworker:queues", "evil\u{1b}[2J\n", "bad"]);
    site.redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    site.redis.cli(&["SADD", "cogworker:paused_queues", "a b"]);
    let job = r#"{"class":"A","enqueued_at":1000.0}"#;
    for _ in 0..1200 {
        site.redis.cli(&["LPUSH", "cogworker:queue:message", "{}"]);
    }
    site.redis.cli(&["LPUSH", "cogworker:queue:a:b", job]);
    site.process("h:1:a", r#"{"queues":["a b","a b","message"]}"#, "0", "false");
    site.process("h:2:b", r#"{"queues":["message"]}"#, "0", "false");
    let shown = site.run(&["queues"])?;
    let lines: Vec<String> = shown
        .done()
        .lines()
        .map(|line| {
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("|")
        })
        .collect();
    assert_eq!(lines[0], "QUEUE|SIZE|LATENCY|PROCESSES|STATE");
    assert_eq!(lines[1], "a b|0|0s|1|paused");
    assert!(lines[2].starts_with("a:b|1|2") && lines[2].ends_with("h|0"), "{lines:?}");
    let rest = [
        "bad|?|0s|0|wrong type",
        "delete|0|0s|0",
        r"evil\u{1b}[2J\n|0|0s|0",
        "größe 日本|0|0s|0",
        "list|0|0s|0",
    ];
    assert_eq!(lines[3..8], rest);
    assert_eq!(lines[8], "message|1,200|0s|2");
    let json = site.run(&["queues", "--json"])?;
    let lines: Vec<&str> = json.done().lines().collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[0], r#"{"queue":"a b","size":0,"latency":0.0,"paused":true,"processes":1}"#);
    assert_eq!(lines[2], r#"{"queue":"bad","size":null,"latency":0.0,"paused":false,"processes":0}"#);
    assert!(lines[4].starts_with(r#"{"queue":"evil\u001b[2J\n","size":0"#), "{}", lines[4]);
    Ok(())
}

#[test]
fn a_queue_of_any_name_is_paused_resumed_cleared_and_deleted() -> Outcome {
    let site = Site::start()?;
    for name in ODD {
        let key = format!("cogworker:queue:{name}");
        site.redis.cli(&["SADD", "cogworker:queues", name]);
        site.redis.cli(&["LPUSH", &key, "1", "2", "3"]);
        assert_eq!(site.run(&["queue", name, "pause"])?.done(), format!("queue {name}: paused\n"));
        assert_eq!(site.redis.cli(&["SISMEMBER", "cogworker:paused_queues", name]), 1);
        assert_eq!(site.run(&["queue", name, "resume"])?.done(), format!("queue {name}: resumed\n"));
        assert_eq!(site.redis.cli(&["SISMEMBER", "cogworker:paused_queues", name]), 0);
        let cleared = site.run(&["queue", name, "clear", "--yes"])?;
        assert_eq!(cleared.done(), format!("queue {name}: cleared, 3 jobs deleted\n"));
        assert_eq!(site.redis.cli(&["EXISTS", &key]), 0);
        let cleared = site.run(&["queue", name, "clear"])?;
        assert_eq!(
            cleared.done(),
            format!("queue {name}: cleared, 0 jobs deleted\n"),
            "nothing to ask about"
        );
        site.run(&["queue", name, "pause"])?.done();
        let deleted = site.run(&["queue", name, "delete", "-y", "--json"])?;
        let quoted = name.replace('"', "\\\"");
        assert_eq!(
            deleted.done(),
            format!("{{\"queue\":\"{quoted}\",\"done\":\"deleted\",\"deleted\":0}}\n")
        );
        assert_eq!(site.redis.cli(&["SISMEMBER", "cogworker:queues", name]), 0);
        assert_eq!(site.redis.cli(&["SISMEMBER", "cogworker:paused_queues", name]), 0);
    }
    Ok(())
}

#[test]
fn without_a_yes_or_a_terminal_nothing_is_deleted_and_the_number_is_told() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["LPUSH", "cogworker:queue:q", "1", "2"]);
    let asked =
        |what| format!("cogworker: would {what}: there is no terminal to ask on, so add --yes to do it");
    let clear = site.run(&["queue", "q", "clear"])?;
    clear.failed(4, &asked("delete 2 jobs from the queue \"q\""));
    let delete = site.run(&["queue", "q", "delete", "--json"])?;
    delete.failed(4, &asked("delete the queue and 2 jobs from the queue \"q\""));
    assert_eq!(site.redis.cli(&["LLEN", "cogworker:queue:q"]), 2);
    Ok(())
}

#[test]
fn an_unknown_queue_is_an_error_that_names_it_and_those_there_are() -> Outcome {
    let site = Site::start()?;
    for action in ["pause", "resume", "clear", "list", "delete"] {
        site.run(&["queue", "typo", action, "--yes"])?.failed(1, "cogworker: no such queue: \"typo\"");
    }
    site.redis.cli(&["SADD", "cogworker:queues", "default", "low"]);
    let unknown = site.run(&["queue", "typo", "pause"])?;
    unknown.failed(1, "cogworker: no such queue: \"typo\"; there are \"default\", \"low\"");
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:paused_queues"]), 0);
    site.redis.cli(&["SADD", "cogworker:paused_queues", "gone"]);
    site.run(&["queue", "gone", "resume"])?.done();
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:paused_queues"]), 0, "a pause outlives its queue");
    Ok(())
}

#[test]
fn a_large_queue_is_cleared_with_its_locks_and_what_reads_it_is_told_of() -> Outcome {
    let site = Site::start()?;
    let fill = r#"for n = 1, 3000 do redis.call('LPUSH', KEYS[1], '{"class":"A","jid":"' .. n .. '"}') end"#;
    site.redis.cli(&["EVAL", fill, "1", "cogworker:queue:q"]);
    site.process("h:1:a", r#"{"queues":["q"]}"#, "0", "false");
    let deleted = site.run(&["queue", "q", "delete", "--yes"])?;
    assert_eq!((deleted.code, &*deleted.out), (0, "queue q: deleted, 3,000 jobs deleted\n"));
    assert_eq!(deleted.err, "1 process reads it still, and will list it again\n");
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:queue:q"]), 0);
    Ok(())
}

#[test]
fn the_jobs_of_a_queue_are_listed_next_first_damaged_ones_too() -> Outcome {
    let site = Site::start()?;
    let pretty = "{\"class\":\"A\",\n \"jid\":\"j2\", \"args\":[1.0, 123456789012345678901234567890],\"enqueued_at\":1000.5}";
    site.redis.cli(&[
        "LPUSH",
        "cogworker:queue:q",
        r#"{"class":"A","jid":"j1","args":["é\u001b"]}"#,
        pretty,
        "no job\u{1b}[2J",
    ]);
    let list = site.run(&["queue", "q", "list"])?;
    let lines: Vec<&str> = list.done().lines().map(from_time).collect();
    assert!(lines[0].starts_with("(UTC)") && lines[0].ends_with("JID  CLASS      ARGS"), "{lines:?}");
    assert!(lines[1].ends_with(r#"j1   A          ["é\u001b"]"#), "{lines:?}");
    assert_eq!(lines[2], "(1970-01-01 00:16:40)  j2   A          [1.0, 123456789012345678901234567890]");
    assert!(lines[3].ends_with(r"(damaged)  no job\u{1b}[2J"), "{lines:?}");
    let json = site.run(&["queue", "q", "list", "--json"])?;
    let lines: Vec<&str> = json.done().lines().collect();
    assert_eq!(lines[0], r#"{"in":"queue","job":{"class":"A","jid":"j1","args":["é\u001b"]}}"#);
    assert_eq!(lines[1], format!("{{\"in\":\"queue\",\"job\":{}}}", pretty.replace('\n', " ")));
    assert!(
        lines[2].ends_with(r#","raw":"no job\u001b[2J"}"#) && lines[2].contains("\"damaged\":\""),
        "{}",
        lines[2]
    );
    let part = site.run(&["queue", "q", "list", "--skip", "1", "--limit", "1"])?;
    assert!(
        part.out.contains("j2") && !part.out.contains("j1") && part.out.ends_with("… and 1 more\n"),
        "{}",
        part.out
    );
    assert_eq!(site.run(&["queue", "q", "list", "--skip", "7"])?.done(), "no jobs\n");
    Ok(())
}

#[test]
fn a_long_queue_is_listed_whole_when_asked() -> Outcome {
    let site = Site::start()?;
    let fill = "for n = 1, 1234 do redis.call('LPUSH', KEYS[1], '{\"jid\":\"' .. n .. '\"}') end";
    site.redis.cli(&["EVAL", fill, "1", "cogworker:queue:q"]);
    assert_eq!(site.run(&["queue", "q", "list", "--json", "--limit", "0"])?.lines().len(), 1234);
    assert_eq!(site.run(&["queue", "q", "list", "--json"])?.lines().len(), 50);
    assert!(site.run(&["queue", "q", "list"])?.out.ends_with("… and 1,184 more\n"));
    Ok(())
}

#[test]
fn a_key_that_is_no_list_is_told_and_left_alone() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    for action in ["clear", "delete"] {
        let ran = site.run(&["queue", "bad", action, "--yes"])?;
        assert_eq!((ran.code, &*ran.out), (1, ""));
        assert!(
            ran.err.starts_with("cogworker: the queue \"bad\" is stored as something that is no list"),
            "{ran:?}"
        );
    }
    let list = site.run(&["queue", "bad", "list"])?;
    assert!(
        list.code == 1
            && list.err.contains("failed to read the queue \"bad\": failed to use a redis key: WRONGTYPE"),
        "{list:?}"
    );
    assert_eq!(site.redis.cli(&["GET", "cogworker:queue:bad"]), "x");
    Ok(())
}
