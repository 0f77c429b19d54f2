//! `cron`.

use crate::support::{Outcome, Site};

fn publish(site: &Site) {
    for (pjid, entry) in [
        ("aaaaaaaa1111", r#"{"cron":"0 9 * * *","class":"ReportJob","retry":0,"unique":null,"args":[1.0]}"#),
        (
            "aaaaaaaa2222",
            r#"{"cron":"*/5 * * * *","class":"SweepJob","retry":3,"unique":"until_executed","args":[]}"#,
        ),
        ("bbbbbbbb3333", r#"{"cron":"@hourly","class":"SweepJob","retry":null,"unique":null,"args":["x"]}"#),
        ("cccccccc4444", "not JSON"),
    ] {
        site.redis.cli(&["HSET", "periodic:schedule", pjid, entry]);
    }
    site.redis.cli(&["SET", "periodic:last_slot:aaaaaaaa1111", "1796004000"]);
    site.redis.cli(&["SADD", "periodic:disabled", "bbbbbbbb3333"]);
    site.redis.cli(&["SET", "periodic:running:aaaaaaaa2222", "thejid"]);
}

#[test]
fn entries_are_listed_with_their_next_and_last_time_and_state() -> Outcome {
    let site = Site::start()?;
    assert_eq!(site.run(&["cron", "list"])?.done(), "no periodic jobs are published\n");
    publish(&site);
    let shown = site.run(&["cron", "list"])?;
    let lines: Vec<&str> = shown.done().lines().collect();
    assert!(lines[0].starts_with("PJID       CLASS      CRON         NEXT (UTC)"), "{lines:?}");
    assert!(lines[1].starts_with("aaaaaaaa1  ReportJob  0 9 * * *    in "), "{lines:?}");
    assert!(
        lines[1].contains(" 09:00:00)")
            && lines[1].contains("(2026-11-30 02:00:00)")
            && lines[1].ends_with("[1.0]"),
        "{lines:?}"
    );
    assert!(
        lines[2].starts_with("aaaaaaaa2  SweepJob   */5 * * * *  in ") && lines[2].ends_with("running   []"),
        "{lines:?}"
    );
    assert!(
        lines[3].starts_with("bbbbbbbb   SweepJob   @hourly     ") && lines[3].ends_with("disabled  [\"x\"]"),
        "{lines:?}"
    );
    assert_eq!(lines[4], "cccccccc   (damaged)");
    let json = site.run(&["cron", "list", "--json"])?;
    let lines: Vec<&str> = json.done().lines().collect();
    let first = r#"{"pjid":"aaaaaaaa1111","cron":"0 9 * * *","class":"ReportJob","args":[1.0],"retry":0,"until_executed":false,"disabled":false,"next":1"#;
    assert!(
        lines[0].starts_with(first) || lines[0].starts_with(&first.replace("next\":1", "next\":2")),
        "{}",
        lines[0]
    );
    assert!(lines[0].ends_with(r#","last":1796004000,"running":null}"#), "{}", lines[0]);
    assert!(
        lines[1].contains(r#""until_executed":true"#) && lines[1].ends_with(r#""running":"thejid"}"#),
        "{}",
        lines[1]
    );
    assert!(lines[2].contains(r#""disabled":true,"next":null"#), "{}", lines[2]);
    assert_eq!(lines[3], r#"{"damaged":true,"pjid":"cccccccc4444"}"#);
    Ok(())
}

#[test]
fn an_entry_is_run_disabled_and_enabled_by_id_its_beginning_or_its_class() -> Outcome {
    let site = Site::start()?;
    publish(&site);
    let run = site.run(&["cron", "run", "ReportJob"])?;
    assert!(run.done().starts_with("aaaaaaaa1111: pushed "), "{run:?}");
    let job = site.redis.cli(&["LINDEX", "cogworker:queue:default", "0"]);
    assert!(
        job.as_str().is_some_and(|job| job.contains(r#""class":"ReportJob","args":[1.0],"retry":0"#)),
        "{job:?}"
    );
    assert_eq!(site.run(&["cron", "disable", "aaaaaaaa2"])?.done(), "aaaaaaaa2222: disabled\n");
    assert_eq!(site.redis.cli(&["SISMEMBER", "periodic:disabled", "aaaaaaaa2222"]), 1);
    let enabled = site.run(&["cron", "enable", "aaaaaaaa2222", "--json"])?;
    assert_eq!(enabled.done(), "{\"pjid\":\"aaaaaaaa2222\",\"done\":\"enabled\"}\n");
    assert_eq!(site.redis.cli(&["SISMEMBER", "periodic:disabled", "aaaaaaaa2222"]), 0);
    assert_eq!(
        site.run(&["cron", "disable", "cccccccc4444"])?.done(),
        "cccccccc4444: disabled\n",
        "damaged, yet off"
    );
    Ok(())
}

#[test]
fn an_unknown_or_ambiguous_entry_is_an_error_and_nothing_is_done() -> Outcome {
    let site = Site::start()?;
    publish(&site);
    for action in ["run", "enable", "disable"] {
        site.run(&["cron", action, "nope"])?
            .failed(1, "cogworker: no such periodic entry: nope; see cogworker cron list");
        site.run(&["cron", action, ""])?
            .failed(1, "cogworker: no such periodic entry: ; see cogworker cron list");
        site.run(&["cron", action, "aaaa"])?
            .failed(1, "cogworker: aaaa may be any of aaaaaaaa1111, aaaaaaaa2222");
        site.run(&["cron", action, "SweepJob"])?
            .failed(1, "cogworker: SweepJob may be any of aaaaaaaa2222, bbbbbbbb3333");
    }
    let damaged = site.run(&["cron", "run", "cccccccc4444"])?;
    assert!(damaged.code == 1 && damaged.err.contains("its definition is damaged"), "{damaged:?}");
    assert_eq!(site.redis.cli(&["SMEMBERS", "periodic:disabled"]).strings(), ["bbbbbbbb3333"]);
    assert_eq!(site.redis.cli(&["EXISTS", "cogworker:queue:default"]), 0);
    site.redis.cli(&["DEL", "periodic:schedule"]);
    site.redis.cli(&["SET", "periodic:schedule", "x"]);
    let wrong = site.run(&["cron", "list"])?;
    assert!(
        wrong.code == 1
            && wrong.err.contains("failed to list the periodic jobs: failed to use a redis key: WRONGTYPE"),
        "{wrong:?}"
    );
    Ok(())
}
