//! Pushes that are under way at the same time.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::RedisError;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{RespValue, TestRedis};

use crate::support::{Outcome, queue, start};

fn numbered(number: usize, queue: &str) -> NewJob {
    NewJob::new("NumberedJob").jid(number.to_string()).queue(queue)
}

fn calls(redis: &TestRedis, command: &str) -> u64 {
    let stats = redis.cli(&["INFO", "commandstats"]);
    let stats = stats.as_str().unwrap_or_default();
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
}

/// Each caller is told of its own job, and the jobs are pushed in far fewer calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushes_at_the_same_time_go_together_and_each_arrives_once_on_its_queue() -> Outcome {
    const JOBS: usize = 2_000;
    const AT_A_TIME: usize = 100;
    let (redis, client) = start().await?;
    let mut fewest = u64::MAX;
    for first in (0..JOBS).step_by(AT_A_TIME) {
        let before = calls(&redis, "lpush");
        let pushes: Vec<_> = (first..first + AT_A_TIME)
            .map(|number| {
                let client = client.clone();
                let queue = if number.is_multiple_of(10) { "low" } else { "default" };
                tokio::spawn(async move { client.push(numbered(number, queue)).await })
            })
            .collect();
        for (number, push) in (first..).zip(pushes) {
            let jid = push.await??.ok_or("it was stopped")?;
            assert_eq!(jid.as_str(), number.to_string());
        }
        fewest = fewest.min(calls(&redis, "lpush") - before);
    }
    // On a busy machine some wait too long for others, and go by themselves for a while.
    assert!(fewest < AT_A_TIME as u64 / 4, "{fewest} calls for {AT_A_TIME} jobs at best");
    let mut jids: Vec<usize> = Vec::new();
    for (name, count) in [("low", JOBS / 10), ("default", JOBS - JOBS / 10)] {
        let jobs = queue(&redis, name);
        assert_eq!(jobs.len(), count, "{name}");
        for job in jobs {
            let job: serde_json::Value = serde_json::from_str(&job)?;
            jids.push(job["jid"].as_str().unwrap_or_default().parse()?);
        }
    }
    jids.sort_unstable();
    assert!(jids.into_iter().eq(0..JOBS), "each once");
    let mut queues = redis.cli(&["SMEMBERS", "cogworker:queues"]).strings();
    queues.sort();
    assert_eq!(queues, ["default", "low"]);
    Ok(())
}

#[tokio::test]
async fn a_queue_that_takes_no_job_fails_only_the_pushes_to_it() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SET", "cogworker:queue:damaged", "x"]);
    let push = |number: usize| {
        let client = client.clone();
        let queue = if number.is_multiple_of(2) { "damaged" } else { "sound" };
        tokio::spawn(async move { client.push(numbered(number, queue)).await })
    };
    let pushes: Vec<_> = (0..40).map(push).collect();
    for (number, push) in pushes.into_iter().enumerate() {
        match push.await? {
            Err(cogworker_client::ClientError::Redis(RedisError::WrongType(_))) => assert_eq!(number % 2, 0),
            Ok(Some(_)) => assert_eq!(number % 2, 1),
            other => return Err(format!("{number}: {other:?}").into()),
        }
    }
    assert_eq!(queue(&redis, "sound").len(), 20);
    Ok(())
}

/// A push that was given up before it was under way must not happen with somebody's next one.
#[tokio::test]
async fn a_push_that_is_given_up_while_it_waits_for_others_is_never_made() -> Outcome {
    let (redis, client) = start().await?;
    redis.pause()?;
    let under_way: Vec<_> = (0..2)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.push(numbered(number, "default")).await })
        })
        .collect();
    // Both calls are under way once their tasks have run.
    tokio::task::yield_now().await;
    {
        let mut waiting = pin!(client.push(numbered(99, "default")));
        let poll = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(poll, Poll::Pending));
    }
    let follower = {
        let client = client.clone();
        tokio::spawn(async move { client.push(numbered(3, "default")).await })
    };
    tokio::task::yield_now().await;
    redis.resume()?;
    for push in under_way {
        push.await??;
    }
    follower.await??;
    client.push(numbered(4, "default")).await?;
    let jobs = queue(&redis, "default");
    assert_eq!(jobs.len(), 4);
    assert!(!jobs.iter().any(|job| job.contains(r#""jid":"99""#)), "{jobs:?}");
    Ok(())
}

#[tokio::test]
async fn without_redis_every_push_ends_with_an_error_and_later_ones_go_through() -> Outcome {
    let redis = TestRedis::start()?;
    let config = RedisConfig::new(&redis.url())?.with_command_timeout(std::time::Duration::from_millis(300));
    let client = Client::connect(&config).await?;
    redis.pause()?;
    let pushes: Vec<_> = (0..50)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.push(numbered(number, "default")).await })
        })
        .collect();
    for push in pushes {
        let error = push.await?.err().ok_or("it was pushed")?;
        let cogworker_client::ClientError::Redis(error) = error else { return Err(error.into()) };
        assert!(error.is_outage(), "{error}");
    }
    redis.resume()?;
    let mut pushed = client.push(numbered(100, "later")).await;
    while pushed.is_err() {
        pushed = client.push(numbered(100, "later")).await;
    }
    assert!(queue(&redis, "later").iter().any(|job| job.contains(r#""jid":"100""#)));
    assert_ne!(redis.cli(&["LLEN", "cogworker:queue:later"]), RespValue::Int(0));
    Ok(())
}

/// A thread with a runtime of its own pushes, and then does something else: what it was sending for
/// others must not rest with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushes_from_many_runtimes_end_though_some_of_them_are_no_longer_driven() -> Outcome {
    const THREADS: usize = 8;
    const EACH: usize = 300;
    let (redis, client) = start().await?;
    let (ended, ends) = mpsc::channel();
    let (go_on, released) = mpsc::channel::<()>();
    let released = std::sync::Arc::new(std::sync::Mutex::new(released));
    for worker in 0..THREADS {
        let (client, ended, released) = (client.clone(), ended.clone(), released.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let pushed = runtime.as_ref().map(|runtime| {
                (0..EACH)
                    .filter(|number| {
                        let job = numbered(worker * EACH + number, "default");
                        matches!(runtime.block_on(client.push(job)), Ok(Some(_)))
                    })
                    .count()
            });
            let _ = ended.send(pushed.unwrap_or(0));
            // The runtime stays, and nobody drives it.
            let _ = released.lock().map(|released| released.recv());
        });
    }
    let pushed = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + Duration::from_secs(30);
        (0..THREADS)
            .map(|_| ends.recv_timeout(deadline.saturating_duration_since(Instant::now())))
            .collect::<Result<Vec<_>, _>>()
    });
    let pushed = pushed.await?;
    drop(go_on);
    assert_eq!(pushed?, [EACH; THREADS]);
    assert_eq!(queue(&redis, "default").len(), THREADS * EACH);
    Ok(())
}

/// Both calls are held by pushes that nobody goes on with: the others must not wait for them one after the other.
#[tokio::test]
async fn pushes_go_by_themselves_while_the_calls_are_held_by_callers_that_rest() -> Outcome {
    const JOBS: usize = 2_000;
    let (redis, client) = start().await?;
    let mut held = [pin!(client.push(numbered(1, "default"))), pin!(client.push(numbered(2, "default")))];
    for push in &mut held {
        assert!(matches!(push.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    }
    // Each waiting its full time would take a hundred seconds, longer than a test may.
    for number in 10..10 + JOBS {
        client.push(numbered(number, "low")).await?;
    }
    assert_eq!(queue(&redis, "low").len(), JOBS);
    for push in held {
        push.await?;
    }
    assert_eq!(queue(&redis, "default").len(), 2);
    Ok(())
}
