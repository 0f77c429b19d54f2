//! Deleting and putting back: locks go with their jobs, and nothing is skipped.

use bytes::Bytes;
use cogworker_client::{Client, JobSet, Requeued};
use cogworker_core::new_job::NewJob;
use cogworker_core::raw_job::RawJob;
use cogworker_core::scripts::{self, Held};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

use crate::support::{Outcome, queue, start};

fn job() -> NewJob {
    NewJob::new("A").queue("q").args([1]).set("unique", "until_executed")
}

async fn only_waiting(client: &Client) -> Result<Bytes, Box<dyn std::error::Error>> {
    Ok(client.queue("q").page(0, 1).await?.entries.pop().ok_or("nothing waits")?)
}

/// Moves the waiting job into a set, as a worker would, its lock being held.
async fn file_in(redis: &TestRedis, client: &Client, key: &str) -> Result<Bytes, Box<dyn std::error::Error>> {
    let raw = only_waiting(client).await?;
    redis.cli(&["DEL", "cogworker:queue:q"]);
    redis.cli(&["ZADD", key, "5e9", &String::from_utf8_lossy(&raw)]);
    Ok(raw)
}

#[tokio::test]
async fn deleting_a_unique_job_frees_its_lock_wherever_it_is_p_34() -> Outcome {
    let (redis, client) = start().await?;
    assert!(client.push(job()).await?.is_some());
    assert!(client.queue("q").delete(&only_waiting(&client).await?).await?);
    assert!(client.push(job()).await?.is_some(), "deleted from its queue");
    assert_eq!(client.queue("q").clear().await?, 1);

    assert!(client.push(job().at(EpochSeconds::new(5e9))).await?.is_some(), "the queue was cleared");
    let entry = client.schedule().page(0, 1).await?.entries.remove(0);
    assert!(client.schedule().delete(&entry.raw).await?);

    for (set, key) in [(client.retries(), "cogworker:retry"), (client.dead(), "cogworker:dead")] {
        assert!(client.push(job()).await?.is_some(), "before {key}");
        let raw = file_in(&redis, &client, key).await?;
        assert_eq!(client.push(job()).await?, None, "a twin while the first is in {key}");
        assert!(set.delete(&raw).await?);
        assert!(client.push(job()).await?.is_some(), "deleted from {key}");
        file_in(&redis, &client, key).await?;
        assert_eq!(set.clear().await?, 1);
    }
    assert_eq!(client.unique_lock(job()).await?, None);
    assert_eq!(redis.cli(&["KEYS", "cogworker:unique:*"]).strings(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn deleting_a_job_leaves_anothers_lock_alone_uniq_17() -> Outcome {
    let (redis, client) = start().await?;
    client.push(job().jid("first")).await?;
    let raw = only_waiting(&client).await?;
    redis.cli(&["DEL", "cogworker:queue:q"]);
    let lock = redis.cli(&["KEYS", "cogworker:unique:*"]).strings().remove(0);
    redis.cli(&["SET", &lock, "second"]);
    redis.cli(&["ZADD", "cogworker:dead", "1", &String::from_utf8_lossy(&raw)]);
    assert!(client.dead().delete(&raw).await?);
    assert_eq!(client.unique_lock(job()).await?.as_ref().map(|jid| jid.as_str()), Some("second"));
    Ok(())
}

#[tokio::test]
async fn clearing_deletes_all_of_a_large_queue_or_set_and_frees_each_lock_p_22() -> Outcome {
    let (redis, client) = start().await?;
    let jobs = |at: Option<f64>| -> Vec<NewJob> {
        let job = |number: u32| NewJob::new("A").queue("q").args([number]).set("unique", "until_executed");
        (0..1250)
            .map(|number| match at {
                Some(at) => job(number).at(EpochSeconds::new(at)),
                None => job(number),
            })
            .collect()
    };
    client.push_all(jobs(None)).await?;
    redis.cli(&["RPUSH", "cogworker:queue:q", "no job"]);
    assert_eq!(client.queue("q").clear().await?, 1251);
    client.push_all(jobs(Some(5e9))).await?;
    redis.cli(&["ZADD", "cogworker:schedule", "1", "no job"]);
    assert_eq!(client.schedule().clear().await?, 1251);
    assert_eq!(redis.cli(&["KEYS", "cogworker:*"]).strings(), ["cogworker:queues"]);
    assert_eq!((client.queue("q").clear().await?, client.dead().clear().await?), (0, 0));
    Ok(())
}

#[tokio::test]
async fn all_entries_are_put_back_at_once_and_what_cannot_be_stays_p_22_p_23() -> Outcome {
    let (redis, client) = start().await?;
    for number in 0..700 {
        let (queue, score) = (if number % 7 == 0 { "bad" } else { "q" }, (number / 300).to_string());
        let job = format!(r#"{{"class":"A","jid":"{number}","queue":"{queue}","args":[1.0]}}"#);
        redis.cli(&["ZADD", "cogworker:retry", &score, &job]);
    }
    redis.cli(&["ZADD", "cogworker:retry", "0", "no job", "2", "[]"]);
    redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    let all = client.retries().requeue_all().await?;
    assert_eq!((all.requeued, all.left, all.error.is_some()), (600, 102, true));
    assert_eq!(queue(&redis, "q").len(), 600);
    assert_eq!(redis.cli(&["ZSCORE", "cogworker:retry", "[]"]), "2");
    redis.cli(&["DEL", "cogworker:queue:bad"]);
    let all = client.retries().requeue_all().await?;
    assert_eq!((all.requeued, all.left, all.error.is_none()), (100, 2, true));
    let oldest = client.queue("q").page(0, 1).await?.entries.remove(0);
    assert_eq!(RawJob::parse(&oldest)?.args_json(), "[1.0]");
    Ok(())
}

/// A dead unique job whose lock was released, as death does.
async fn die(redis: &TestRedis, client: &Client, jid: &str) -> Result<Bytes, Box<dyn std::error::Error>> {
    client.push(job().jid(jid)).await?;
    let raw = file_in(redis, client, "cogworker:dead").await?;
    let lock = redis.cli(&["KEYS", "cogworker:unique:*"]).strings().remove(0);
    redis.cli(&["DEL", &lock]);
    Ok(raw)
}

async fn owner(client: &Client) -> Result<Option<String>, Box<dyn std::error::Error>> {
    Ok(client.unique_lock(job()).await?.map(|jid| jid.to_string()))
}

#[tokio::test]
async fn a_dead_unique_job_that_is_put_back_takes_its_lock_again() -> Outcome {
    let (redis, client) = start().await?;
    let raw = die(&redis, &client, "first").await?;
    assert_eq!(client.dead().requeue(&raw).await?, Requeued::Requeued);
    assert_eq!(owner(&client).await?.as_deref(), Some("first"));
    assert_eq!(client.push(job()).await?, None);
    Ok(())
}

#[tokio::test]
async fn a_dead_unique_job_stays_while_an_equal_one_is_to_be_executed() -> Outcome {
    let (redis, client) = start().await?;
    let raw = die(&redis, &client, "first").await?;
    client.push(job().jid("second")).await?;
    assert_eq!(client.dead().requeue(&raw).await?, Requeued::Duplicate);
    let all = client.dead().requeue_all().await?;
    assert_eq!((all.requeued, all.left), (0, 1));
    assert_eq!((client.dead().size().await?, queue(&redis, "q").len()), (1, 1));
    assert_eq!(owner(&client).await?.as_deref(), Some("second"));
    Ok(())
}

#[tokio::test]
async fn a_job_in_retry_is_put_back_whoever_has_its_lock() -> Outcome {
    let (redis, client) = start().await?;
    let raw = die(&redis, &client, "first").await?;
    client.dead().clear().await?;
    client.push(job().jid("second")).await?;
    redis.cli(&["ZADD", "cogworker:retry", "5e9", &String::from_utf8_lossy(&raw)]);
    let retries: JobSet = client.retries();
    assert_eq!(retries.requeue(&raw).await?, Requeued::Requeued);
    assert_eq!(owner(&client).await?.as_deref(), Some("second"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_in_use_is_cleared_of_what_was_there_and_every_lock_is_right() -> Outcome {
    let (redis, client) = start().await?;
    let job = |number: u32| NewJob::new("A").queue("q").args([number]).set("unique", "until_executed");
    client.push_all((0..3000).map(job).collect()).await?;
    // One takes jobs and never frees their locks, one pushes further ones, while the queue is cleared.
    let (clearing, taking, pushing) = (client.clone(), client.clone(), client.clone());
    let taker = tokio::spawn(async move {
        for _ in 0..200 {
            scripts::fetch_jobs(taking.redis(), "h:1:a", Held::Listed, &["q"], 1).await?;
        }
        Ok::<_, cogworker_core::redis::RedisError>(())
    });
    let pusher = tokio::spawn(async move {
        for number in 10_000..10_200 {
            pushing.push(job(number)).await?;
        }
        Ok::<_, cogworker_client::ClientError>(())
    });
    let deleted = clearing.queue("q").clear().await?;
    taker.await??;
    pusher.await??;
    let left = queue(&redis, "q").len();
    let taken = redis.cli(&["LLEN", "cogworker:inprogress:h:1:a"]).as_int().ok_or("no length")?;
    let locks = redis.cli(&["KEYS", "cogworker:unique:*"]).strings().len();
    assert_eq!(deleted as usize + left + taken as usize, 3200, "each was deleted, taken or left");
    assert_eq!(locks, left + taken as usize, "each job that is not deleted has its lock, and no other");
    Ok(())
}
