//! Pushing jobs with their locks and statuses.

use std::time::Duration;

use crate::support::{Outcome, has_ttl, list, start};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, Push, Pushed};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

fn push(jid: &str, queue: &str, at: Option<f64>, lock: Option<&str>) -> Push {
    Push {
        payload: format!("job {jid}").into_bytes(),
        jid: jid.into(),
        class: "A".into(),
        queue: queue.into(),
        at: at.map(EpochSeconds::new),
        lock: lock.map(|lock| (lock.to_owned(), 100)),
    }
}

async fn push_jobs(redis: &Redis, jobs: Vec<Push>) -> Result<Pushed, RedisError> {
    scripts::push_jobs(redis, jobs, None).await
}

fn exists(server: &TestRedis, key: &str) -> bool {
    server.cli(&["EXISTS", key]) == 1
}

#[tokio::test]
async fn push_jobs_takes_the_lock_and_leaves_anothers_alone_uniq_04_uniq_05() -> Outcome {
    let (server, redis) = start().await?;
    let jobs = vec![
        push("1", "q", None, Some("lock")),
        push("2", "q", None, Some("lock")),
        push("3", "q", None, None),
        push("4", "other", Some(5e9), Some("later")),
        push("1", "q", None, Some("lock")),
    ];
    let pushed = push_jobs(&redis, jobs).await?;
    assert_eq!((pushed.pushed, pushed.error.is_none()), (vec![true, false, true, true, false], true));
    assert_eq!(list(&server, "cogworker:queue:q"), ["job 3", "job 1"]);
    assert_eq!(server.cli(&["GET", "lock"]), "1");
    assert!(has_ttl(&server, "later", 100));
    assert_eq!(server.cli(&["ZSCORE", "cogworker:schedule", "job 4"]), "5000000000");
    assert_eq!(server.cli(&["SMEMBERS", "cogworker:queues"]).strings(), ["q"]);
    Ok(())
}

#[tokio::test]
async fn push_jobs_leaves_no_lock_of_a_job_that_is_refused_and_stops_there() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:queue:bad", "x"]);
    server.cli(&["SET", "cogworker:schedule", "x"]);
    server.cli(&["SET", "cogworker:queues", "x"]);
    for refused in [push("2", "bad", None, Some("lock 2")), push("3", "q", Some(5e9), Some("lock 2"))] {
        server.cli(&["DEL", "lock 1", "lock 3", "cogworker:queue:q"]);
        let jobs = vec![push("1", "q", None, Some("lock 1")), refused, push("4", "q", None, Some("lock 3"))];
        let pushed = push_jobs(&redis, jobs).await?;
        assert_eq!(pushed.pushed, [true]);
        assert!(matches!(pushed.error, Some(RedisError::WrongType(_))), "{:?}", pushed.error);
        assert_eq!(list(&server, "cogworker:queue:q"), ["job 1"]);
        assert!(exists(&server, "lock 1") && !exists(&server, "lock 2") && !exists(&server, "lock 3"));
    }
    Ok(())
}

#[tokio::test]
async fn push_jobs_writes_nothing_when_memory_is_full() -> Outcome {
    let (server, redis) = start().await?;
    server.fill_memory()?;
    let pushed = push_jobs(&redis, vec![push("1", "q", None, Some("lock"))]).await;
    let error = match pushed {
        Ok(pushed) => pushed.error.ok_or("it was pushed")?,
        Err(error) => error,
    };
    assert!(matches!(error, RedisError::OutOfMemory(_)), "{error}");
    assert!(!exists(&server, "lock") && !exists(&server, "cogworker:queue:q"));
    Ok(())
}

#[tokio::test]
async fn push_jobs_wakes_the_pollers_for_what_is_due_before_all_others() -> Outcome {
    let (server, redis) = start().await?;
    let mut channel = server.connect()?;
    channel.command(&["SUBSCRIBE", "cogworker:wake"])?;
    push_jobs(&redis, vec![push("1", "q", Some(50.5), Some("a")), push("2", "q", Some(40.0), None)]).await?;
    assert_eq!(channel.read()?.strings(), ["message", "cogworker:wake", "40.000000"]);
    push_jobs(&redis, vec![push("3", "q", Some(60.0), Some("b")), push("4", "q", None, Some("c"))]).await?;
    push_jobs(&redis, vec![push("5", "q", Some(30.0), Some("a"))]).await?;
    push_jobs(&redis, vec![push("6", "q", Some(20.0), None)]).await?;
    assert_eq!(channel.read()?.strings()[2], "20.000000", "neither the later nor the duplicate woke them");
    Ok(())
}

#[tokio::test]
async fn push_jobs_writes_the_status_of_what_it_pushes_stat_01() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "status:2", "x"]);
    let jobs = vec![
        push("1", "q", None, Some("lock")),
        push("2", "q", None, None),
        push("3", "q", None, Some("lock")),
        push("4", "low", Some(5e9), None),
    ];
    let pushed = scripts::push_jobs(&redis, jobs, Some(Duration::from_secs(1800))).await?;
    assert_eq!(pushed.pushed, [true, true, false, true], "a status that cannot be written stops nothing");
    let fields = server.cli(&["HMGET", "status:4", "status", "class", "queue"]).strings();
    assert_eq!(fields, ["queued", "A", "low"]);
    let time: f64 = server.cli(&["HGET", "status:1", "update_time"]).as_str().ok_or("no time")?.parse()?;
    assert!((time - EpochSeconds::now().as_f64()).abs() < 5.0);
    assert!(has_ttl(&server, "status:1", 1800));
    assert!(!exists(&server, "status:3"));
    Ok(())
}
