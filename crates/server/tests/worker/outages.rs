//! Redis goes away and comes back; connections are cut; scripts are forgotten.

use std::time::Duration;

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::Server;
use cogworker_testing::TestRedisOptions;

use crate::support::{Flaky, Nap, Outcome, Record, SOON, app, config, eventually, note, start, start_with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_waits_for_a_redis_that_is_away_at_boot_and_then_works_beat_07() -> Outcome {
    let redis = TestRedisOptions::new().start()?;
    let settings = config(&redis)?;
    redis.kill();
    let record = Record::default();
    let server = Server::new(settings, app(&record));
    let handle = server.handle();
    let task = tokio::spawn(server.run(std::future::pending()));
    redis.restart()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    client.perform_async(&note("[]")?).await?;
    assert!(eventually(SOON, || record.runs() == 1).await);
    handle.stop();
    task.await??;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_waits_for_redis_can_still_be_stopped_life_02() -> Outcome {
    let redis = TestRedisOptions::new().start()?;
    let settings = config(&redis)?;
    redis.kill();
    let server = Server::new(settings, app(&Record::default()));
    let handle = server.handle();
    let task = tokio::spawn(server.run(std::future::pending()));
    handle.stop();
    tokio::time::timeout(Duration::from_secs(5), task).await???;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_redis_dies_and_comes_back_with_its_data() -> Outcome {
    let options = TestRedisOptions::new().appendonly(true).arg("--appendfsync").arg("always");
    let worker = start_with(options, |_| {}).await?;
    let jobs: Vec<NewJob> = (0..3000).map(|index| NewJob::of(&Flaky(u32::from(index % 10 == 0)))).collect();
    worker.client.push_all(jobs).await?;
    worker.client.perform_async(&Nap { ms: 500 }).await?;
    assert!(eventually(SOON, || worker.record.runs() > 100).await);
    worker.redis.kill();
    worker.redis.restart()?;
    let all = || worker.processed() + worker.failed() == 3001 && worker.held() == 0;
    assert!(eventually(Duration::from_secs(30), all).await, "{} + {}", worker.processed(), worker.failed());
    assert_eq!((worker.failed(), worker.count(&["ZCARD", "cogworker:retry"])), (300, 300));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_nothing_and_run_nothing_twice() -> Outcome {
    let worker = start().await?;
    let jobs = (0..20_000).map(|index| note(&format!("[{index}]"))).collect::<Result<Vec<_>, _>>()?;
    worker.client.push_bulk(&jobs).await?;
    for cut in 1..=5 {
        let far = 1500 * cut;
        assert!(eventually(SOON, || worker.record.runs() >= far).await);
        worker.redis.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    }
    assert!(
        eventually(Duration::from_secs(30), || worker.record.runs() >= 20_000 && worker.held() == 0).await
    );
    let mut seen = worker.record.seen();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), worker.record.runs()), (20_000, 20_000));
    assert!(eventually(SOON, || worker.processed() == 20_000).await, "{}", worker.processed());
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_scripts_are_sent_again_under_load_p_52() -> Outcome {
    let worker = start().await?;
    let jobs = (0..10_000).map(|_| note("[]")).collect::<Result<Vec<_>, _>>()?;
    worker.client.push_bulk(&jobs).await?;
    let done = || {
        worker.redis.cli(&["SCRIPT", "FLUSH"]);
        worker.processed() == 10_000
    };
    assert!(eventually(Duration::from_secs(30), done).await);
    assert_eq!((worker.failed(), worker.record.runs()), (0, 10_000));
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_ended_with_an_error_begins_again_p_13() -> Outcome {
    let worker = start().await?;
    let waiting = || {
        let clients = worker.redis.cli(&["CLIENT", "LIST"]);
        let line =
            clients.as_str().unwrap_or("").lines().find(|line| line.contains("cmd=blmove"))?.to_owned();
        line.split_whitespace().find_map(|field| field.strip_prefix("id=").map(str::to_owned))
    };
    for round in 1..=3 {
        assert!(eventually(SOON, || waiting().is_some()).await);
        if let Some(id) = waiting() {
            worker.redis.cli(&["CLIENT", "UNBLOCK", &id, "ERROR"]);
        }
        worker.client.perform_async(&note("[]")?).await?;
        assert!(eventually(Duration::from_secs(5), || worker.record.runs() == round).await);
    }
    worker.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_redis_holds_up_but_loses_nothing() -> Outcome {
    let worker = start().await?;
    let jobs = (0..20_000).map(|index| note(&format!("[{index}]"))).collect::<Result<Vec<_>, _>>()?;
    worker.client.push_bulk(&jobs).await?;
    assert!(eventually(SOON, || worker.record.runs() > 500).await);
    worker.redis.pause()?;
    // Longer than a call waits for its reply.
    assert!(!eventually(Duration::from_secs(7), || worker.record.runs() >= 20_000).await);
    worker.redis.resume()?;
    assert!(
        eventually(Duration::from_secs(20), || worker.record.runs() >= 20_000 && worker.held() == 0).await
    );
    let mut seen = worker.record.seen();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), worker.record.runs()), (20_000, 20_000));
    worker.stop().await?;
    Ok(())
}
