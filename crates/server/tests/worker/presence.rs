//! What others see of a process, and what they can tell it.

use std::time::Duration;

use cogworker_core::new_job::NewJob;

use crate::support::{Block, Nap, Outcome, SOON, eventually, note, start, start_with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_and_its_running_job_are_seen_and_gone_after_a_stop_beat_01_proc_02() -> Outcome {
    let worker = start_with(Default::default(), |config| {
        config.queues = ["default", "default", "low"].map(str::to_owned).to_vec();
        config.concurrency = 3;
    })
    .await?;
    worker.client.push(NewJob::of(&Nap { ms: 700 }).jid("nap").queue("low")).await?;
    assert!(
        eventually(SOON, || worker.count(&["HLEN", &format!("cogworker:workers:{}", worker.identity)]) == 1)
            .await
    );
    let process = worker.client.processes().await?.remove(0);
    assert_eq!(process.identity, worker.identity);
    assert_eq!(process.info.queues, ["default", "default", "low"]);
    assert_eq!((process.info.concurrency, process.info.pid, process.quiet), (3, std::process::id(), false));
    let running = worker.client.running_jobs().await?.remove(0);
    assert_eq!((running.identity.as_str(), running.work.queue.as_str()), (worker.identity.as_str(), "low"));
    assert_eq!(running.slot.len(), 12);
    assert!(running.work.payload.get().contains(r#""jid":"nap""#));
    assert!(
        eventually(SOON, || worker.count(&["EXISTS", &format!("cogworker:workers:{}", worker.identity)])
            == 0)
        .await
    );

    let identity = worker.identity.clone();
    let redis = worker.stop().await?;
    let gone = ["processes", "inprogress_identities", "last_beat"].map(|name| format!("cogworker:{name}"));
    for key in gone.iter().chain([&format!("cogworker:process:{identity}")]) {
        assert_eq!(redis.cli(&["EXISTS", key]), 0, "{key}");
    }
    assert_eq!(redis.cli(&["SCARD", "cogworker:queues"]), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quiet_and_resume_are_obeyed_from_afar_pset_02() -> Outcome {
    let worker = start().await?;
    let channel = format!("cogworker:signal:{}", worker.identity);
    let listening = || {
        worker.redis.cli(&["PUBSUB", "NUMSUB", &channel]).items().get(1).and_then(|count| count.as_int())
            == Some(1)
    };
    assert!(eventually(SOON, listening).await, "PSET-04");
    let process = worker.client.processes().await?.remove(0);
    process.quiet().await?;
    // A worker that is quiet waits on no queue.
    let waits = || worker.redis.cli(&["CLIENT", "LIST"]).as_str().unwrap_or("").contains("cmd=blmove");
    assert!(eventually(SOON, || !waits()).await);
    worker.client.perform_async(&note("[]")?).await?;
    assert!(
        eventually(Duration::from_secs(8), || worker.redis.cli(&[
            "HGET",
            &format!("cogworker:process:{}", worker.identity),
            "quiet"
        ]) == "true")
        .await
    );
    assert_eq!((worker.record.runs(), worker.count(&["LLEN", "cogworker:queue:default"])), (0, 1));
    process.resume().await?;
    assert!(eventually(SOON, || worker.processed() == 1).await);
    process.stop().await?;
    tokio::time::timeout(Duration::from_secs(8), worker.task).await???;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_for_running_jobs_and_takes_no_further_ones() -> Outcome {
    let worker = start_with(Default::default(), |config| config.concurrency = 1).await?;
    worker.client.perform_async(&Nap { ms: 400 }).await?;
    assert!(eventually(SOON, || worker.held() == 1).await);
    worker.client.perform_async(&note("[]")?).await?;
    let record = worker.record.clone();
    let redis = worker.stop().await?;
    assert_eq!(record.seen(), ["napped"]);
    assert_eq!(redis.cli(&["GET", "cogworker:stats:processed"]), "1");
    assert_eq!(redis.cli(&["LLEN", "cogworker:queue:default"]), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_past_the_shutdown_limit_go_back_on_their_queues_req_06() -> Outcome {
    let worker =
        start_with(Default::default(), |config| config.shutdown_timeout = Duration::from_millis(100)).await?;
    worker.client.push(NewJob::of(&Nap { ms: 60_000 }).jid("async")).await?;
    worker.client.push(NewJob::of(&Block(4_000)).jid("blocking")).await?;
    assert!(eventually(SOON, || worker.held() == 2).await);
    let (record, held) = (worker.record.clone(), worker.held_key());
    let redis = worker.stop().await?;
    let back = redis.cli(&["LRANGE", "cogworker:queue:default", "0", "-1"]).strings();
    assert_eq!(back.len(), 2);
    assert!(
        back.iter().any(|raw| raw.contains("\"async\""))
            && back.iter().any(|raw| raw.contains("\"blocking\""))
    );
    assert_eq!(redis.cli(&["EXISTS", &held, "cogworker:stats:processed", "cogworker:stats:failed"]), 0);
    assert!(!record.seen().contains(&"napped".to_owned()), "the async job is really gone");
    Ok(())
}
