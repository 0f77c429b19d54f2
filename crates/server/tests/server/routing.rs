//! Where a failed job goes: into retry with what went wrong, or into dead.

use cogworker_core::new_job::NewJob;
use cogworker_server::{App, JobError};
use serde_json::{Value, json};

use crate::support::{Seen, Site, TestResult, Text, reach, seconds_from_now};

/// Fails with the job's text; the runs are noted.
fn failing(seen: &Seen<String>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Text| {
        seen.add(job.0.clone());
        async move { Err::<(), _>(JobError::new("ArgumentError", job.0)) }
    })
}

fn keys(entry: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = entry.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_failure_adds_four_keys_and_is_due_in_16_to_74_seconds_retry_01_to_06() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(failing(&seen))?;
    let job = NewJob::of(&Text("boom".into())).jid("j").set("tags", ["x"]).set("custom", json!({"b": 1.0}));
    site.client.push(job).await?;
    reach("the retry", || site.members("retry") == 1)?;

    let entry = site.only_entry("retry")?;
    assert_eq!((&entry["error_class"], &entry["error_message"]), (&json!("ArgumentError"), &json!("boom")));
    assert_eq!(entry["retry_count"], 1);
    assert!(entry["failed_at"].is_f64(), "{entry}");
    let expected = "args class created_at custom enqueued_at error_class error_message failed_at jid queue \
                    retry retry_count tags";
    assert_eq!(keys(&entry).join(" "), expected);
    let scored = site.texts(&["ZRANGE", "cogworker:retry", "0", "-1", "WITHSCORES"]);
    let due_in = seconds_from_now(&scored[1])?;
    assert!((14.0..=75.0).contains(&due_in), "{due_in}");

    let attempts = site.texts(&["LRANGE", "cogworker:job_attempts:j", "0", "-1"]);
    let attempt: Value = serde_json::from_str(&attempts[0])?;
    assert_eq!((&attempt["attempt"], &attempt["outcome"]), (&json!(1), &json!("retrying")));
    assert_eq!(
        (&attempt["error_class"], &attempt["error_message"]),
        (&json!("ArgumentError"), &json!("boom"))
    );
    assert!(attempt["failed_at"].is_f64());
    assert_eq!((site.failed(), site.waiting("default"), site.in_progress(&worker)), (1, 0, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_with_one_retry_runs_twice_and_keeps_when_it_first_failed_opt_09_retry_11() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(failing(&seen))?;
    site.client.push(NewJob::of(&Text("again".into())).retry(1).jid("j")).await?;
    reach("the retry", || site.members("retry") == 1)?;
    let first = site.only_entry("retry")?;
    site.make_due("retry")?;
    reach("the death", || site.members("dead") == 1)?;
    let last = site.only_entry("dead")?;
    assert_eq!(last["failed_at"], first["failed_at"]);
    assert_eq!((&last["retry_count"], seen.len()), (&json!(2), 2));
    let outcomes: Vec<String> = site
        .texts(&["LRANGE", "cogworker:job_attempts:j", "0", "-1"])
        .iter()
        .map(|item| {
            serde_json::from_str::<Value>(item).map(|item| format!("{} {}", item["attempt"], item["outcome"]))
        })
        .collect::<Result<_, _>>()?;
    assert_eq!(outcomes, [r#"1 "retrying""#, r#"2 "dead""#]);
    assert_eq!((site.members("retry"), site.failed(), site.processed()), (0, 2, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_retries_a_failure_is_dead_at_once_dead_01_to_03() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(failing(&seen))?;
    site.client.push(NewJob::of(&Text("final".into())).retry(false).jid("j")).await?;
    reach("the death", || site.members("dead") == 1)?;
    let entry = site.only_entry("dead")?;
    assert_eq!((&entry["error_message"], &entry["retry_count"]), (&json!("final"), &json!(1)));
    assert!(entry["failed_at"].is_f64());
    let attempts = site.texts(&["LRANGE", "cogworker:job_attempts:j", "0", "-1"]);
    assert!(attempts.len() == 1 && attempts[0].contains(r#""outcome":"dead""#), "{attempts:?}");
    let hours = site.texts(&["KEYS", "cogworker:throughput:*"]);
    let hour = |field: &str| site.int(&["HGET", &hours[0], field]);
    assert_eq!((site.members("retry"), site.failed(), hour("failed"), hour("processed")), (0, 1, 1, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_spelling_of_retry_has_its_budget_opt_07_opt_08() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(failing(&seen))?;
    // `retry` and how many attempts failed already; whether this one is final.
    let cases = [
        (r#""retry":false"#, true),
        (r#""retry":true"#, false),
        (r#""retry":true,"retry_count":24"#, false),
        (r#""retry":true,"retry_count":25"#, true),
        (r#""retry":null,"retry_count":24"#, false),
        (r#""x":1,"retry_count":25"#, true),
        (r#""retry":2,"retry_count":1"#, false),
        (r#""retry":2,"retry_count":2"#, true),
        (r#""retry":2.0,"retry_count":1"#, false),
        (r#""retry":2.9,"retry_count":2"#, true),
        (r#""retry":"4","retry_count":3"#, false),
        (r#""retry":"4","retry_count":4"#, true),
        (r#""retry":"lots""#, true),
        (r#""retry":{}"#, true),
    ];
    for (number, (fields, _)) in cases.iter().enumerate() {
        let job = format!(
            r#"{{"class":"TextJob","args":["{number}"],"queue":"default","jid":"j{number}",{fields}}}"#
        );
        site.push_raw("default", job)?;
    }
    reach("all failures", || site.failed() == cases.len() as i64)?;
    let dead = site.texts(&["ZRANGE", "cogworker:dead", "0", "-1"]);
    for (number, (fields, is_final)) in cases.iter().enumerate() {
        let died = dead.iter().any(|entry| entry.contains(&format!(r#""jid":"j{number}""#)));
        assert_eq!(died, *is_final, "{fields}");
    }
    assert_eq!(site.members("retry") + site.members("dead"), cases.len() as i64);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unwritable_attempt_log_loses_nothing_retry_09() -> TestResult {
    let site = Site::start().await?;
    site.run(&["SET", "cogworker:job_attempts:j", "no list"])?;
    let seen = Seen::default();
    let worker = site.worker(failing(&seen))?;
    site.client.push(NewJob::of(&Text("x".into())).jid("j")).await?;
    reach("the failure is counted", || site.failed() == 1)?;
    reach("it is acknowledged", || site.in_progress(&worker) == 0)?;
    assert_eq!((site.members("retry"), seen.len()), (1, 1));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_that_cannot_be_filed_stays_in_progress_until_it_can_dead_09() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["SET", "cogworker:dead", "no set"])?;
    let seen = Seen::default();
    let worker = site.worker(failing(&seen))?;
    site.client.push(NewJob::of(&Text("x".into())).retry(false)).await?;
    reach("the run", || seen.len() == 1)?;
    assert_eq!((site.in_progress(&worker), site.failed()), (1, 0));
    site.run(&["RENAME", "cogworker:dead", "aside"])?;
    reach("the death is filed", || site.members("dead") == 1)?;
    assert_eq!((site.in_progress(&worker), site.failed(), seen.len()), (0, 1, 1));
    worker.stop().await
}
