//! Jobs that are due later.

use std::time::{Duration, Instant};

use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use crate::support::{Outcome, SOON, app, config, eventually, note, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delayed_job_runs_on_time_though_the_poller_slept_longer() -> Outcome {
    let worker = start().await?;
    assert!(
        eventually(SOON, || worker.count(&["PUBSUB", "NUMSUB"]) == 0
            && worker.redis.cli(&["PUBSUB", "CHANNELS"]).strings().len() == 2)
        .await
    );
    let begun = Instant::now();
    worker.client.perform_in(Duration::from_millis(600), &note("[]")?).await?;
    assert!(eventually(SOON, || worker.record.runs() == 1).await);
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(600) && took < Duration::from_millis(1500), "{took:?}");
    assert_eq!(worker.count(&["ZCARD", "cogworker:schedule"]), 0);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graduated_job_has_a_fresh_enqueued_at_and_a_future_one_stays_sched_01_02_04() -> Outcome {
    let worker = start().await?;
    worker.client.queue("held").pause().await?;
    let old = r#"{"class":"A","args":[{"enqueued_at":1}],"jid":"a","queue":"held","enqueued_at":1.7e+9}"#;
    let future = (EpochSeconds::now().as_f64() + 3600.0).to_string();
    worker.redis.cli(&["ZADD", "cogworker:retry", "1", old, &future, "later"]);
    assert!(eventually(SOON, || worker.count(&["LLEN", "cogworker:queue:held"]) == 1).await);
    let moved = worker.entries("cogworker:queue:held").remove(0);
    let job = RawJob::parse(moved.as_bytes())?;
    assert_eq!(job.args_json(), r#"[{"enqueued_at":1}]"#);
    assert!(worker.client.queue("held").info().await?.latency < Duration::from_secs(5));
    assert_eq!(worker.entries("cogworker:retry"), ["later"]);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_entry_is_buried_and_the_rest_graduate_sched_05() -> Outcome {
    let worker = start().await?;
    let good = r#"{"class":"NoteJob","args":[],"jid":"g","queue":"default"}"#;
    worker.redis.cli(&["ZADD", "cogworker:retry", "1", "not json", "2", r#"{"class":"NoQueue"}"#, "3", good]);
    assert!(eventually(SOON, || worker.record.runs() == 1).await);
    assert!(eventually(SOON, || worker.count(&["ZCARD", "cogworker:dead"]) == 2).await);
    assert_eq!((worker.count(&["ZCARD", "cogworker:retry"]), worker.failed()), (0, 2));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_of_the_wrong_type_does_not_stop_the_retries_sched_07() -> Outcome {
    let worker = start().await?;
    // It would be moved away otherwise.
    worker.redis.cli(&["ACL", "SETUSER", "default", "-renamenx"]);
    worker.redis.cli(&["SET", "cogworker:schedule", "x"]);
    let good = r#"{"class":"NoteJob","args":[],"jid":"g","queue":"default"}"#;
    worker.redis.cli(&["ZADD", "cogworker:retry", "1", good]);
    assert!(eventually(SOON, || worker.record.runs() == 1).await);
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_pollers_move_each_due_job_once_p_21() -> Outcome {
    let worker = start().await?;
    let mut others = Vec::new();
    for _ in 0..3 {
        let server = cogworker_server::Server::new(config(&worker.redis)?, app(&worker.record));
        others.push((server.handle(), tokio::spawn(server.run(std::future::pending()))));
    }
    let due = EpochSeconds::now().plus(Duration::from_millis(500));
    let jobs = (0..3000)
        .map(|index| Ok(cogworker_core::new_job::NewJob::of(&note(&format!("[{index}]"))?).at(due)))
        .collect::<Result<Vec<_>, serde_json::Error>>()?;
    worker.client.push_all(jobs).await?;
    assert!(eventually(SOON, || worker.processed() == 3000).await);
    let mut seen = worker.record.seen();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), worker.record.runs()), (3000, 3000));
    assert_eq!(worker.count(&["ZCARD", "cogworker:schedule"]), 0);
    for (handle, task) in others {
        handle.stop();
        task.await??;
    }
    worker.stop().await?;
    Ok(())
}
