//! Retry, dead, counters, lossless carrying, and what is no job at all.

use cogworker_core::new_job::NewJob;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use crate::support::{Flaky, Nap, Outcome, SOON, eventually, note, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_job_goes_to_retry_with_exactly_four_more_keys_retry_01_to_06() -> Outcome {
    let worker = start().await?;
    let jid = worker.client.perform_async(&Flaky(1)).await?.ok_or("no jid")?;
    let before = EpochSeconds::now();
    assert!(eventually(SOON, || worker.failed() == 1).await);
    let entry = worker.entries("cogworker:retry").remove(0);
    let job = RawJob::parse(entry.as_bytes())?;
    let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&entry)?;
    let mut names: Vec<&str> = keys.keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected =
        ["args", "class", "created_at", "enqueued_at", "error_class", "error_message", "failed_at"];
    assert_eq!(names[..7], expected);
    assert_eq!(names[7..], ["jid", "queue", "retry", "retry_count"]);
    assert_eq!((job.retry_count(), job.jid()), (1, jid.as_str()));
    let score: f64 =
        worker.redis.cli(&["ZSCORE", "cogworker:retry", &entry]).as_str().unwrap_or("").parse()?;
    let delay = score - before.as_f64();
    assert!((14.0..=75.0).contains(&delay), "{delay}");
    let attempts = worker.entries(&format!("cogworker:job_attempts:{jid}"));
    assert_eq!(attempts.len(), 1);
    let attempt: serde_json::Value = serde_json::from_str(&attempts[0])?;
    assert_eq!((attempt["attempt"].as_u64(), attempt["outcome"].as_str()), (Some(1), Some("retrying")));
    assert_eq!(attempt["error_class"], "FlakyError");
    assert!(attempt["failed_at"].is_f64());
    assert_eq!(worker.held(), 0);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_without_retries_goes_straight_to_dead_dead_01_to_03() -> Outcome {
    let worker = start().await?;
    let jid = worker.client.push(NewJob::of(&Flaky(9)).retry(false)).await?.ok_or("no jid")?;
    assert!(eventually(SOON, || worker.failed() == 1).await);
    assert_eq!(worker.count(&["ZCARD", "cogworker:retry"]), 0);
    let entry = worker.entries("cogworker:dead").remove(0);
    assert_eq!(RawJob::parse(entry.as_bytes())?.retry_count(), 1);
    let attempts = worker.entries(&format!("cogworker:job_attempts:{jid}"));
    assert!(attempts[0].contains(r#""outcome":"dead""#));
    let hour = (EpochSeconds::now().as_f64() / 3600.0) as u64;
    let hour = format!("cogworker:throughput:{hour}");
    assert_eq!(worker.count(&["HGET", &hour, "failed"]), 1);
    assert_eq!(worker.count(&["HGET", &hour, "processed"]), 0);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_with_n_retries_runs_n_plus_one_times_opt_09() -> Outcome {
    let worker = start().await?;
    worker.client.push(NewJob::of(&Flaky(9)).retry(2)).await?;
    for failures in 1..=2 {
        assert!(eventually(SOON, || worker.failed() == failures).await);
        let entry = worker.client.retries().page(0, 1).await?.entries.remove(0);
        worker.client.retries().requeue(&entry.raw).await?;
    }
    assert!(eventually(SOON, || worker.count(&["ZCARD", "cogworker:dead"]) == 1).await);
    assert_eq!(worker.record.seen(), ["attempt 1", "attempt 2", "attempt 3"]);
    assert_eq!(worker.failed(), 3);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_job_is_buried_and_the_next_job_runs_p_09() -> Outcome {
    let worker = start().await?;
    for raw in [b"{\"class\":".as_slice(), b"\xFF\xFE\x00", b"[1,2]", b""] {
        worker.push_raw("default", raw);
    }
    worker.client.perform_async(&note("[]")?).await?;
    assert!(eventually(SOON, || worker.processed() == 1 && worker.failed() == 4).await);
    let dead = worker.entries("cogworker:dead");
    assert_eq!(dead.len(), 4);
    for entry in &dead {
        let job = RawJob::parse(entry.as_bytes())?;
        assert_eq!((job.class(), job.queue(), job.jid().len()), ("(unparseable)", Some("default"), 24));
    }
    assert!(dead.iter().any(|entry| entry.contains(r#""raw_payload_base64":"//4A""#)));
    assert_eq!(worker.held(), 0);
    worker.stop().await?;
    Ok(())
}

/// Args that a careless JSON reader or writer changes.
const AWKWARD: &str = r#"[130775545883395173,123456789012345678901234567890,0.1,[],{},1.0,null,{"b": 1,  "a":{"enqueued_at":"x"}},"é\u0001\/"]"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn args_keep_their_bytes_through_schedule_retry_and_dead_p_03_p_04() -> Outcome {
    let worker = start().await?;
    worker.handle.quiet();
    // An unknown class fails wherever it runs; the class is put right on the way.
    let raw = format!(
        r#"{{"class":"GoneJob","args":{AWKWARD},"jid":"awkward","queue":"default","retry":1,"created_at":1.2e3,"enqueued_at":1.2e3}}"#
    );
    worker.redis.cli(&["ZADD", "cogworker:schedule", "1", &raw]);
    worker.handle.resume();
    assert!(eventually(SOON, || worker.count(&["ZCARD", "cogworker:retry"]) == 1).await);
    let retry = worker.client.retries().page(0, 1).await?.entries.remove(0);
    assert_eq!(RawJob::parse(&retry.raw)?.args_json(), AWKWARD);
    worker.client.retries().requeue(&retry.raw).await?;
    assert!(eventually(SOON, || worker.count(&["ZCARD", "cogworker:dead"]) == 1).await);
    let dead = worker.client.dead().page(0, 1).await?.entries.remove(0);
    assert_eq!(RawJob::parse(&dead.raw)?.args_json(), AWKWARD);
    // Out of dead again, now as a class that notes what it gets.
    let repaired = String::from_utf8(dead.raw.to_vec())?.replace("GoneJob", "NoteJob");
    worker.redis.cli(&["ZADD", "cogworker:dead", "1", &repaired]);
    worker.client.dead().requeue(&repaired.into()).await?;
    assert!(eventually(SOON, || worker.record.runs() == 1).await);
    assert_eq!(format!("[{}]", worker.record.seen()[0]), AWKWARD);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_equal_the_runs_exactly_with_a_fifth_failing() -> Outcome {
    let worker = start().await?;
    let jobs: Vec<NewJob> =
        (0..5000).map(|index| NewJob::of(&Flaky(u32::from(index % 5 == 0))).retry(index % 2 == 0)).collect();
    worker.client.push_all(jobs).await?;
    assert!(eventually(SOON, || worker.processed() + worker.failed() >= 5000).await);
    assert_eq!((worker.processed(), worker.failed(), worker.record.runs()), (4000, 1000, 5000));
    let filed = worker.count(&["ZCARD", "cogworker:retry"]) + worker.count(&["ZCARD", "cogworker:dead"]);
    assert_eq!((filed, worker.held()), (1000, 0));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_was_taken_away_is_neither_written_nor_counted() -> Outcome {
    let worker = start().await?;
    worker.client.perform_async(&Nap { ms: 300 }).await?;
    worker.client.push(NewJob::of(&Nap { ms: 300 }).set("mark", "kept")).await?;
    assert!(eventually(SOON, || worker.held() == 2).await);
    let lost =
        worker.entries(&worker.held_key()).into_iter().find(|raw| !raw.contains("kept")).ok_or("none")?;
    worker.redis.cli(&["LREM", &worker.held_key(), "1", &lost]);
    assert!(eventually(SOON, || worker.record.runs() == 2 && worker.held() == 0).await);
    assert_eq!((worker.processed(), worker.failed()), (1, 0));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_odd_error_text_is_stored_bounded_and_readable_p_16() -> Outcome {
    let worker = start().await?;
    let nul = "\0\u{1b}[31mred".to_owned();
    for text in [nul, "x".repeat(1_000_000)] {
        worker.client.push(NewJob::new("PanicJob").args([text]).retry(1)).await?;
    }
    assert!(eventually(SOON, || worker.failed() == 2).await);
    for entry in worker.entries("cogworker:retry") {
        let message = RawJob::parse(entry.as_bytes())?.text_field("error_message").unwrap_or_default();
        assert!(message.chars().count() <= 10_000 && !message.is_empty());
    }
    worker.stop().await?;
    Ok(())
}
