//! The log's lines and files.

use std::path::Path;

use cogworker_server::config::LogFormat;
use cogworker_server::logging::{LogOptions, LoggingError};
use tracing::subscriber::with_default;

/// The lines after the time, with this process's number replaced.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| {
            let (time, rest) = line.split_once(' ').unwrap_or_default();
            assert!(time.len() == 24 && time.ends_with('Z'), "{line}");
            rest.replace(&format!("pid={} ", std::process::id()), "pid=N ")
        })
        .collect()
}

/// Whatever the environment of the tests asks for.
fn to(path: &Path) -> LogOptions {
    LogOptions::new().file(path).filter("info")
}

#[test]
fn a_line_has_time_pid_level_message_fields_and_the_fields_of_spans() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (subscriber, _) = to(&path).subscriber().unwrap();
    with_default(subscriber, || {
        tracing::info!(queue = "low", count = 3, note = "two words", empty = "", "started {}", 1);
        let outer = tracing::info_span!("run", jid = "abc").entered();
        let inner = tracing::info_span!("step", n = 2).entered();
        tracing::warn!(error = %"a=b", "failed");
        drop((inner, outer));
        tracing::error!("bad\nline \u{1b}[31m é");
        tracing::error!(text = "a\nb", other = ?"c\nd", list = ?[1, 2], shown = %"e\nf", "x");
        tracing::debug!("not shown");
    });
    assert_eq!(
        lines(&path),
        [
            "pid=N INFO: started 1 queue=low count=3 note=\"two words\" empty=\"\"",
            "pid=N WARN: failed error=\"a=b\" jid=abc n=2",
            "pid=N ERROR: bad\\nline \\u{1b}[31m é",
            "pid=N ERROR: x text=\"a\\nb\" other=\"c\\nd\" list=\"[1, 2]\" shown=\"e\\nf\"",
        ]
    );
}

#[test]
fn log_14_each_line_is_in_the_file_as_soon_as_it_is_logged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (subscriber, _) = to(&path).subscriber().unwrap();
    with_default(subscriber, || {
        for count in 1..=3 {
            tracing::info!("line");
            assert_eq!(lines(&path).len(), count);
        }
    });
}

#[test]
fn the_filter_chooses_levels_and_targets() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (subscriber, _) = to(&path).filter("warn,chatty=debug").subscriber().unwrap();
    with_default(subscriber, || {
        tracing::info!("hidden");
        tracing::debug!(target: "chatty", "shown");
    });
    assert_eq!(lines(&path), ["pid=N DEBUG: shown"]);
}

#[test]
fn without_a_filter_the_redis_library_does_not_warn_of_what_an_outage_tells_once_log_12() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let log = || {
        // As its lines come through the bridge of an application that takes those of `log` too.
        tracing::warn!(target: "fred::router::responses", "Broadcasting error");
        tracing::error!(target: "fred::router::responses", "grave");
        tracing::info!("ours");
    };
    for (filter, expected) in [
        ("", &["pid=N ERROR: grave", "pid=N INFO: ours"][..]),
        ("info", &["pid=N WARN: Broadcasting error", "pid=N ERROR: grave", "pid=N INFO: ours"]),
    ] {
        let _ = std::fs::remove_file(&path);
        let (subscriber, _) = to(&path).filter(filter).subscriber().unwrap();
        with_default(subscriber, log);
        assert_eq!(lines(&path), expected, "{filter:?}");
    }
}

#[test]
fn a_reopened_log_goes_on_in_a_new_file_under_the_old_name() {
    let dir = tempfile::tempdir().unwrap();
    let (path, rotated) = (dir.path().join("log"), dir.path().join("log.1"));
    let (subscriber, handle) = to(&path).subscriber().unwrap();
    with_default(subscriber, || {
        tracing::info!("first");
        std::fs::rename(&path, &rotated).unwrap();
        tracing::info!("second");
        handle.reopen().unwrap();
        tracing::info!("third");
    });
    assert_eq!(lines(&rotated), ["pid=N INFO: first", "pid=N INFO: second"]);
    assert_eq!(lines(&path), ["pid=N INFO: third"]);
}

#[test]
fn a_log_that_cannot_be_reopened_goes_on_in_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, moved) = (dir.path().join("logs"), dir.path().join("moved"));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("log");
    let (subscriber, handle) = to(&path).subscriber().unwrap();
    with_default(subscriber, || {
        std::fs::rename(&folder, &moved).unwrap();
        let error = handle.reopen().unwrap_err();
        assert!(matches!(&error, LoggingError::File { path: found, .. } if *found == path), "{error}");
        tracing::info!("still here");
    });
    assert_eq!(lines(&moved.join("log")), ["pid=N INFO: still here"]);
}

#[test]
fn a_log_is_appended_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    for _ in 0..2 {
        let (subscriber, _) = to(&path).filter("").subscriber().unwrap();
        with_default(subscriber, || tracing::info!("again"));
    }
    assert_eq!(lines(&path).len(), 2);
}

#[test]
fn a_file_or_filter_that_cannot_be_used_is_an_error_that_names_it() {
    let error = |options: LogOptions| match options.subscriber() {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error(to(Path::new("/none/log"))),
        "open log file /none/log: No such file or directory (os error 2)"
    );
    let message = error(LogOptions::new().filter("a=b=c"));
    assert!(
        message.starts_with(
            "read the log's filter: expected directives such as info or cogworker_server=debug, found \"a=b=c\": "
        ),
        "{message}"
    );
}

#[test]
fn a_line_of_json_is_an_object_with_the_fields_of_the_event_and_its_spans() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (subscriber, _) = to(&path).format(LogFormat::Json).subscriber().unwrap();
    with_default(subscriber, || {
        let outer =
            tracing::info_span!("run", jid = "abc", class = "A", late = tracing::field::Empty).entered();
        let inner = tracing::info_span!("step", class = "B").entered();
        outer.record("late", 7);
        tracing::warn!(duration_s = 1.5, ok = false, pid = "x", nan = f64::NAN, "a\n{}", "é\"");
        drop((inner, outer));
        tracing::info!(big = u64::MAX, text = %"y".repeat(10_001), "z");
    });
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        let time = line.as_object_mut().unwrap().remove("time").unwrap();
        assert_eq!(time.as_str().unwrap().len(), 24);
        assert_eq!(line["pid"], std::process::id());
        line["pid"] = 0.into();
    }
    let target = "config_logging";
    assert_eq!(
        lines[0],
        serde_json::json!({
            "pid": 0, "level": "WARN", "message": "a\né\"", "target": target, "jid": "abc", "class": "B",
            "late": 7, "duration_s": 1.5, "ok": false, "pid_": "x", "nan": "NaN",
        })
    );
    assert_eq!(lines[1]["big"], u64::MAX);
    assert_eq!(lines[1]["text"].as_str().unwrap().chars().count(), 10_001);
}
