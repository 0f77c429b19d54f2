//! `status`.

use crate::support::{Outcome, Site, from_time};

#[test]
fn a_status_is_shown_with_its_fields_and_attempts() -> Outcome {
    let site = Site::start()?;
    site.redis.cli(&[
        "HSET",
        "status:j",
        "status",
        "retrying",
        "update_time",
        "1000.5",
        "class",
        "A",
        "queue",
        "q",
        "pct",
        "42",
        "message",
        "half\u{1b}[2Jway",
        "error_class",
        "IOError",
        "error_message",
        "no\nroute",
        "rows",
        "7",
    ]);
    let attempt = r#"{"attempt":1,"failed_at":1000.5,"outcome":"retrying","error_class":"IOError","error_message":"m"}"#;
    site.redis.cli(&["RPUSH", "cogworker:job_attempts:j", attempt]);
    let shown = site.run(&["status", "j"])?;
    let lines: Vec<&str> = shown.done().lines().collect();
    assert_eq!(lines[..2], ["jid            j", "status         retrying"]);
    assert!(
        lines[2].starts_with("updated (UTC)  2") && lines[2].ends_with(" ago (1970-01-01 00:16:40)"),
        "{lines:?}"
    );
    assert_eq!(
        lines[3..9],
        [
            "class          A",
            "queue          q",
            "progress       42 %",
            r"message        half\u{1b}[2Jway",
            r"error          IOError: no\nroute",
            "rows           7",
        ]
    );
    assert!(from_time(lines[11]).ends_with("retrying  IOError: m"), "{lines:?}");
    let json = site.run(&["status", "j", "--json"])?;
    let expected = format!(
        r#"{{"jid":"j","status":"retrying","update_time":1000.5,"class":"A","queue":"q","pct":42.0,"message":"half\u001b[2Jway","error_class":"IOError","error_message":"no\nroute","fields":{{"rows":"7"}},"attempts":[{attempt}]}}"#
    );
    assert_eq!(json.done().trim_end(), expected);
    Ok(())
}

#[test]
fn a_job_without_a_status_shows_its_attempts_and_an_unknown_one_is_an_error() -> Outcome {
    let site = Site::start()?;
    let unknown = site.run(&["status", "nope"])?;
    assert!(unknown.code == 1 && unknown.out.is_empty(), "{unknown:?}");
    assert!(unknown.err.starts_with("cogworker: nothing is known of the job nope: "), "{unknown:?}");
    let attempt = r#"{"attempt":1,"failed_at":1.0,"outcome":"dead","error_class":"E","error_message":"m"}"#;
    site.redis.cli(&["RPUSH", "cogworker:job_attempts:j", attempt, "damaged"]);
    let shown = site.run(&["status", "j"])?;
    assert!(shown.done().starts_with("jid     j\nstatus  no status\n\nATTEMPT  FAILED (UTC)"), "{shown:?}");
    assert!(shown.out.trim_end().ends_with("dead     E: m"), "{shown:?}");
    site.redis.cli(&["SET", "status:bad", "x"]);
    assert_eq!(site.run(&["status", "bad"])?.code, 1);
    Ok(())
}
