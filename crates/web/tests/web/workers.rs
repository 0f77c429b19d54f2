//! The Workers tab and the status pill.

use axum::http::StatusCode;
use cogworker_core::redis::{Heard, Subscriber};

use crate::support::{Outcome, Site};

const INFO: &str = r#"{"hostname":"h","pid":1,"concurrency":3,"queues":["default","low","default"],"started_at":1767323045.0,"rss_kb":102400}"#;

fn process(site: &Site, identity: &str, info: &str, quiet: &str) {
    site.redis.cli(&["SADD", "cogworker:processes", identity]);
    let key = format!("cogworker:process:{identity}");
    site.redis.cli(&["HSET", &key, "info", info, "busy", "0", "quiet", quiet]);
    site.redis.cli(&["EXPIRE", &key, "57"]);
}

#[tokio::test]
async fn a_process_shows_queues_slots_memory_and_what_it_runs_webw_03_to_08() -> Outcome {
    let site = Site::start().await?;
    process(&site, "h:1:aaa", INFO, "false");
    process(&site, "h:2:bbb", r#"{"concurrency":3,"queues":["default","low"]}"#, "true");
    for slot in ["s1", "s2", "s3"] {
        let work = format!(
            r#"{{"queue":"default","payload":{{"class":"SlowJob","jid":"jid-{slot}","args":[1]}},"run_at":1}}"#
        );
        site.redis.cli(&["HSET", "cogworker:workers:h:1:aaa", slot, &work]);
    }
    let page = site.get("/workers").await.body;
    for part in [
        "2 processes",
        "6 slots",
        "default ×2",
        ">low<",
        "100.0 MB",
        "n/a",
        "2026-01-02 03:04:05",
        "Active",
        "Quiet",
        "3 / 3",
        "3 s ago",
        "jid-s1",
        "SlowJob",
        "heartbeat every 5 s",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("action=\"/admin/jobs/workers/quiet\"").count(), 1, "WEBW-04");
    assert_eq!(page.matches("action=\"/admin/jobs/workers/resume\"").count(), 1, "WEBW-04");
    Ok(())
}

#[tokio::test]
async fn the_pill_counts_processes_and_is_muted_when_all_are_quiet_webw_09_webw_10() -> Outcome {
    let site = Site::start().await?;
    let pill = async || site.get("/workers/summary").await.body;
    let none = pill().await;
    assert!(none.contains("0 workers") && none.contains("dot--off") && !none.contains("<html"));
    process(&site, "h:1:aaa", INFO, "false");
    let one = pill().await;
    assert!(one.contains("1 worker") && !one.contains("workers<") && one.contains("dot--ring"), "{one}");
    process(&site, "h:1:aaa", INFO, "true");
    assert!(pill().await.contains("dot--off"));
    assert!(site.get("/overview").await.body.contains("id=\"cluster-bar\""));
    Ok(())
}

#[tokio::test]
async fn orders_reach_the_process_and_show_at_once_webw_01_webw_02_webw_11() -> Outcome {
    let site = Site::start().await?;
    process(&site, "h:1:aaa", INFO, "false");
    let channel = "cogworker:signal:h:1:aaa".to_owned();
    let mut subscriber = Subscriber::connect_lazily(site.client.redis().config(), vec![channel])?;
    assert!(matches!(subscriber.next().await, Some(Heard::Subscribed)));
    let mut heard = async || match subscriber.next().await {
        Some(Heard::Message(_, message)) => message,
        other => panic!("{other:?}"),
    };
    let answer = site.post_part("/workers/quiet", &[("identity", "h:1:aaa")]).await;
    assert!(answer.body.contains("Going quiet…") && answer.body.contains("Asked to take no new jobs"));
    assert_eq!(heard().await, "quiet");
    assert_eq!(site.post("/workers/resume_all", &[]).await.header("location"), "/admin/jobs/workers");
    assert_eq!(heard().await, "resume");
    let pill = site.post_part("/workers/pause_all", &[]).await;
    assert_eq!(pill.status, StatusCode::OK);
    assert!(pill.body.contains("1 worker") && pill.body.contains("Intake paused"));
    assert_eq!(heard().await, "quiet");
    let stopped = site.post_part("/workers/stop", &[("identity", "h:1:aaa")]).await;
    assert!(stopped.body.contains("Stopping…"));
    assert_eq!(heard().await, "stop");
    assert_eq!(site.post("/workers/stop", &[("identity", "unknown")]).await.status, StatusCode::FOUND);
    Ok(())
}

#[tokio::test]
async fn a_stop_is_asked_about_where_there_is_no_script() -> Outcome {
    let site = Site::start().await?;
    process(&site, "h:1:aaa", INFO, "false");
    let page = site.get("/workers").await.body;
    assert!(page.contains("name=\"ask\" value=\"Stop h:1:aaa?\""));
    let fields = [
        ("identity", "h:1:aaa"),
        ("ask", "Stop h:1:aaa?"),
        ("ask_text", "It ends."),
        ("ask_verb", "Stop process"),
    ];
    let question = site.post("/workers/stop", &fields).await;
    assert_eq!(question.status, StatusCode::OK);
    for part in ["Stop h:1:aaa?", "It ends.", "Stop process", "Cancel", "action=\"/admin/jobs/workers/stop\""]
    {
        assert!(question.body.contains(part), "{part}");
    }
    assert!(!question.body.contains("name=\"ask\""), "the next one is meant");
    assert!(!site.get("/workers").await.body.contains("Stopping…"), "nothing was sent");
    Ok(())
}

/// `count` runs of a class in one bucket, which took `micros` together.
fn ran(site: &Site, class: &str, bucket: u32, count: &str, micros: &str) {
    let (runs, sum) = (format!("{bucket}:{class}"), format!("sum:{class}"));
    site.redis.cli(&["HSET", "cogworker:durations", &runs, count, &sum, micros]);
}

#[tokio::test]
async fn a_running_job_that_is_far_over_what_its_class_takes_is_marked_in_words() -> Outcome {
    let site = Site::start().await?;
    process(&site, "h:1:aaa", INFO, "false");
    let now = cogworker_core::time::EpochSeconds::now().as_f64();
    for (slot, class, since) in [
        ("s1", "LateJob", 600.0),
        ("s2", "UsualJob", 12.0),
        ("s3", "NewJob", 600.0),
        ("s4", "RareJob", 600.0),
    ] {
        let work = format!(
            r#"{{"queue":"default","payload":{{"class":"{class}","jid":"jid-{slot}","args":[]}},"run_at":{:.0}}}"#,
            now - since
        );
        site.redis.cli(&["HSET", "cogworker:workers:h:1:aaa", slot, &work]);
    }
    assert!(!site.get("/workers").await.body.contains("usual"), "no history is kept");
    let site = Site { app: site.fresh(), ..site };
    ran(&site, "LateJob", 7, "100", "800000000");
    ran(&site, "UsualJob", 7, "100", "800000000");
    ran(&site, "RareJob", 0, "4", "4000");
    let page = site.get("/workers").await.body;
    let row = |class: &str| {
        let from = page.find(&format!(">{class}<")).unwrap();
        page[from..].split("</tr>").next().unwrap().to_owned()
    };
    assert!(row("LateJob").contains("<span class=\"usual t-warn\">far over the usual 8 s<"), "{page}");
    assert!(
        row("UsualJob").contains("<span class=\"usual\">usually 8 s<") && !row("UsualJob").contains("t-warn")
    );
    for unknown in ["NewJob", "RareJob"] {
        assert!(!row(unknown).contains("usual"), "{unknown}: too few runs to tell");
    }
    Ok(())
}
