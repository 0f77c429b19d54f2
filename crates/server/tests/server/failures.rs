//! Odd failures and odd payloads: kept, bounded, and never in the way of the next job.

use std::fmt;

use cogworker_client::Requeued;
use cogworker_core::new_job::NewJob;
use cogworker_server::{App, JobError};
use serde_json::{Value, json};

use crate::support::{Numbered, Raw, Seen, Site, TestResult, Text, reach};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_messages_are_stored_as_valid_bounded_json_and_their_retry_runs_p_16() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let messages = ["NUL \0 in it", "\u{1b}[31mred\u{1b}[0m", r"lone \ud800 escape", "\"quoted\\\"", "é€😀"];
    let app = App::new(()).job(move |job: Numbered| {
        let first = !ran.all().contains(&job.0);
        ran.add(job.0);
        async move {
            let message =
                messages.get(job.0).map_or_else(|| "é".repeat(2_500_000), |text| (*text).to_owned());
            if first { Err(JobError::new("OddError", message)) } else { Ok(()) }
        }
    });
    let worker = site.worker(app)?;
    let count = messages.len() + 1;
    site.client.push_bulk(&(0..count).map(Numbered).collect::<Vec<_>>()).await?;
    reach("all failures", || site.members("retry") == count as i64)?;
    for entry in site.client.retries().page(0, 100).await?.entries {
        let job: Value = serde_json::from_slice(&entry.raw)?;
        let message = job["error_message"].as_str().ok_or("a text")?;
        match messages.get(job["args"][0].as_u64().ok_or("a number")? as usize) {
            Some(whole) => assert_eq!(message, *whole),
            None => assert_eq!(message, "é".repeat(10_000), "cut by characters"),
        }
        assert_eq!(site.client.retries().requeue(&entry.raw).await?, Requeued::Requeued);
    }
    reach("all retries run", || site.processed() == count as i64)?;
    worker.stop().await
}

#[derive(Debug)]
struct Speechless;

impl fmt::Display for Speechless {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

impl std::error::Error for Speechless {}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_without_a_message_is_named_by_its_class_retry_08() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let app = App::new(()).job(move |job: Text| {
        ran.add(job.0);
        async { Err::<(), _>(Speechless) }
    });
    let worker = site.worker(app)?;
    site.client.perform_async(&Text("x".into())).await?;
    reach("the retry", || site.members("retry") == 1)?;
    let entry = site.only_entry("retry")?;
    assert_eq!(
        (&entry["error_class"], &entry["error_message"]),
        (&json!("Speechless"), &json!("#<Speechless>"))
    );
    assert_eq!((seen.len(), site.waiting("default"), site.in_progress(&worker)), (1, 0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn args_with_a_lone_surrogate_reach_a_raw_handler_and_fail_cleanly_in_a_typed_one_p_16() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let app = App::new(()).job(|_: Text| async {}).job(move |job: Raw| {
        let ran = ran.clone();
        async move { ran.add(job.0[0].get().to_owned()) }
    });
    let worker = site.worker(app)?;
    for class in ["RawJob", "TextJob"] {
        let job =
            format!(r#"{{"class":"{class}","args":["\ud800"],"queue":"default","jid":"{class}","retry":0}}"#);
        site.push_raw("default", job)?;
    }
    reach("both ends", || site.processed() == 1 && site.members("dead") == 1)?;
    assert_eq!(seen.all(), [r#""\ud800""#]);
    let dead = site.text(&["EVAL", "return redis.call('ZRANGE', 'cogworker:dead', 0, 0)[1]", "0"]);
    assert!(dead.contains(r#""args":["\ud800"]"#) && dead.contains("ArgumentError"), "{dead}");
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_job_is_buried_once_and_the_next_job_runs_p_09_dead_06_dead_10() -> TestResult {
    let site = Site::start().await?;
    let bad: [&[u8]; 5] = [b"{\"class\":", b"\xFF\xFE\x00", b"[1,2]", b"", b"null"];
    for payload in bad {
        site.push_raw("default", payload)?;
    }
    let seen = Seen::default();
    let ran = seen.clone();
    site.client.perform_async(&Text("good".into())).await?;
    let worker = site.worker(App::new(()).job(move |job: Text| {
        let ran = ran.clone();
        async move { ran.add(job.0) }
    }))?;
    reach("all are buried", || site.members("dead") == bad.len() as i64)?;
    reach("the good one runs", || site.processed() == 1)?;
    assert_eq!(seen.all(), ["good"]);
    assert_eq!((site.failed(), site.waiting("default"), site.in_progress(&worker)), (5, 0, 0));

    let entries: Vec<Value> = site
        .texts(&["ZRANGE", "cogworker:dead", "0", "-1"])
        .iter()
        .map(|entry| serde_json::from_str(entry))
        .collect::<Result<_, _>>()?;
    for entry in &entries {
        assert_eq!((&entry["class"], &entry["args"]), (&json!("(unparseable)"), &json!([])));
        assert_eq!(
            (&entry["queue"], &entry["error_class"]),
            (&json!("default"), &json!("JSON::ParserError"))
        );
        assert_eq!((&entry["retry"], &entry["retry_count"]), (&json!(false), &json!(0)));
        assert_eq!(
            (&entry["enqueued_at"], entry["jid"].as_str().map(str::len)),
            (&entry["failed_at"], Some(24))
        );
    }
    let raw = |text: &str| entries.iter().find(|entry| entry["raw_payload"] == text);
    assert!(raw("{\"class\":").is_some_and(|entry| entry.get("raw_payload_base64").is_none()), "{entries:?}");
    assert!(
        raw("\u{FFFD}\u{FFFD}\0").is_some_and(|entry| entry["raw_payload_base64"] == "//4A"),
        "{entries:?}"
    );
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_without_a_jid_or_queue_runs_and_fails_like_any_other() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let worker = site.worker(App::new(()).job(move |job: Text| {
        let ran = ran.clone();
        async move {
            ran.add(job.0.clone());
            if job.0 == "bad" { Err(JobError::new("E", "x")) } else { Ok(()) }
        }
    }))?;
    site.push_raw("default", r#"{"class":"TextJob","args":["good"]}"#)?;
    site.push_raw("default", r#"{"class":"TextJob","args":["bad"]}"#)?;
    reach("both ends", || site.processed() == 1 && site.failed() == 1)?;
    assert_eq!((seen.len(), site.members("retry"), site.in_progress(&worker)), (2, 1, 0));
    site.client.push(NewJob::of(&Text("after".into()))).await?;
    reach("the next run", || site.processed() == 2)?;
    worker.stop().await
}
