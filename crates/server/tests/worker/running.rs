//! Handlers: async, blocking, panicking, unknown, with args that do not fit.

use std::time::Duration;

use cogworker_core::new_job::NewJob;
use cogworker_core::raw_job::RawJob;

use crate::support::{Block, Flaky, Nap, Outcome, Panics, SOON, eventually, note, start, start_with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_runs_with_its_args_and_is_acknowledged_proc_01() -> Outcome {
    let worker = start().await?;
    worker.client.perform_async(&note(r#"[1,"two"]"#)?).await?;
    assert!(eventually(SOON, || worker.processed() == 1).await);
    assert_eq!(worker.record.seen(), [r#"1,"two""#]);
    assert_eq!((worker.held(), worker.failed()), (0, 0));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_job_runs_beside_the_engine() -> Outcome {
    let worker = start().await?;
    for _ in 0..4 {
        worker.client.perform_async(&Block(150)).await?;
    }
    worker.client.perform_async(&note("[]")?).await?;
    assert!(eventually(SOON, || worker.record.runs() == 5).await);
    assert_eq!(worker.record.seen()[0], "", "the short job did not wait for the blocking ones");
    assert!(worker.record.seen().contains(&"blocked on default".to_owned()));
    assert!(eventually(SOON, || worker.processed() == 5).await);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panics_are_failures_and_cost_no_slot_p_57() -> Outcome {
    let worker = start_with(Default::default(), |config| config.concurrency = 2).await?;
    for text in ["with a text", ""].repeat(5) {
        worker.client.push(NewJob::of(&Panics(text.into())).retry(3)).await?;
    }
    for _ in 0..5 {
        worker.client.perform_async(&note("[]")?).await?;
    }
    assert!(eventually(SOON, || worker.processed() == 5 && worker.failed() == 10).await);
    let entries = worker.entries("cogworker:retry");
    assert_eq!(entries.len(), 10);
    assert!(entries.iter().all(|entry| entry.contains(r#""error_class":"Panic""#)));
    assert!(entries.iter().any(|entry| entry.contains(r#""error_message":"with a text""#)));
    assert!(entries.iter().any(|entry| entry.contains(r#""error_message":"a panic without a text""#)));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_class_fails_and_names_the_nearest_known_one() -> Outcome {
    let worker = start().await?;
    worker.client.push(NewJob::new("NoteJbo").retry(false)).await?;
    assert!(eventually(SOON, || worker.failed() == 1).await);
    let entry = worker.entries("cogworker:dead").remove(0);
    let job = RawJob::parse(entry.as_bytes())?;
    assert_eq!(job.text_field("error_class").as_deref(), Some("NameError"));
    let message = job.text_field("error_message").unwrap_or_default();
    assert!(message.contains("NoteJbo") && message.contains("did you mean NoteJob"), "{message}");
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn args_that_do_not_fit_name_class_position_expected_and_found() -> Outcome {
    let worker = start().await?;
    worker.client.push(NewJob::new("FlakyJob").args(["three"]).retry(false)).await?;
    assert!(eventually(SOON, || worker.failed() == 1).await);
    let entry = worker.entries("cogworker:dead").remove(0);
    let job = RawJob::parse(entry.as_bytes())?;
    assert_eq!(
        job.text_field("error_message").as_deref(),
        Some(r#"FlakyJob argument 1: invalid type: string "three", expected u32"#)
    );
    assert_eq!(job.text_field("error_class").as_deref(), Some("ArgumentError"));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrency_bounds_the_jobs_that_run_at_a_time() -> Outcome {
    let worker = start_with(Default::default(), |config| config.concurrency = 3).await?;
    let begun = std::time::Instant::now();
    for _ in 0..9 {
        worker.client.perform_async(&Nap { ms: 100 }).await?;
    }
    assert!(eventually(SOON, || worker.record.runs() == 9).await);
    assert!(begun.elapsed() >= Duration::from_millis(300), "three at a time take three turns");
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quick_class_that_turns_slow_does_not_hold_up_the_others() -> Outcome {
    let worker = start().await?;
    for _ in 0..200 {
        worker.client.perform_async(&Flaky(0)).await?;
    }
    assert!(eventually(SOON, || worker.processed() == 200).await);
    // By now the class is polled in place; a nap in between must still be on time.
    worker.client.perform_async(&Nap { ms: 50 }).await?;
    for _ in 0..200 {
        worker.client.perform_async(&Flaky(0)).await?;
    }
    assert!(eventually(SOON, || worker.processed() == 401).await);
    worker.stop().await?;
    Ok(())
}
