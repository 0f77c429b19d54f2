//! Pushing, and reaching the server.

use std::error::Error;
use std::time::{Duration, SystemTime};

use cogworker_client::{Client, ClientError, JobFate};
use cogworker_core::jid::Jid;
use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::options::JobOptions;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::time::EpochSeconds;
use cogworker_testing::{FaultProxy, TestRedis};
use serde::{Deserialize, Serialize};

use crate::support::{Outcome, queue, start};

#[derive(Serialize, Deserialize)]
struct TestJob(u32, String);

impl Job for TestJob {
    const CLASS: &'static str = "TestJob";

    fn options() -> JobOptions {
        JobOptions::new().retry(false).set("lock_run", "while_executing")
    }
}

#[tokio::test]
async fn a_push_writes_the_job_and_lists_its_queue_push_01_02_03() -> Outcome {
    let (redis, client) = start().await?;
    let jid = client.perform_async(&TestJob(1, "two".into())).await?.ok_or("no jid")?;
    let raw = queue(&redis, "default").remove(0);
    let start = format!(
        r#"{{"retry":false,"lock_run":"while_executing","class":"TestJob","args":[1,"two"],"jid":"{jid}","queue":"default","created_at":"#
    );
    assert!(raw.starts_with(&start), "{raw}");
    assert!(RawJob::parse(raw.as_bytes())?.enqueued_at().is_some());
    assert_eq!(redis.cli(&["SMEMBERS", "cogworker:queues"]).strings(), ["default"]);
    Ok(())
}

#[tokio::test]
async fn new_jobs_enter_at_the_left_push_04() -> Outcome {
    let (redis, client) = start().await?;
    for jid in ["old", "new"] {
        client.push(NewJob::new("A").jid(jid)).await?;
    }
    let jobs = queue(&redis, "default");
    assert!(jobs[0].contains("\"new\"") && jobs[1].contains("\"old\""));
    let page = client.queue("default").page(0, 10).await?;
    assert_eq!(RawJob::parse(&page.entries[0])?.jid(), "old", "the next to be taken comes first");
    Ok(())
}

#[tokio::test]
async fn delayed_jobs_go_to_the_schedule_without_enqueued_at_push_05_06() -> Outcome {
    let (redis, client) = start().await?;
    client.perform_in(Duration::from_secs(60), &TestJob(1, "in".into())).await?;
    client.perform_at(SystemTime::now() + Duration::from_secs(10_000), &TestJob(2, "at".into())).await?;
    let entries = client.schedule().page(0, 10).await?.entries;
    let now = EpochSeconds::now();
    for (entry, delay) in entries.iter().zip([60.0, 10_000.0]) {
        assert!((entry.score.as_f64() - now.as_f64() - delay).abs() < 2.0);
        let job = RawJob::parse(&entry.raw)?;
        assert!(job.enqueued_at().is_none());
        assert_eq!(job.field_as::<f64>("at"), Some(entry.score.as_f64()));
    }
    assert_eq!(entries.len(), 2);
    assert_eq!(redis.cli(&["EXISTS", "cogworker:queues"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_queue_listing_of_the_wrong_type_does_not_fail_the_push_push_10() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SET", "cogworker:queues", "x"]);
    assert!(client.push(NewJob::new("A")).await?.is_some());
    assert_eq!(queue(&redis, "default").len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_is_all_or_nothing_about_bad_jobs_p_01() -> Outcome {
    let (redis, client) = start().await?;
    assert_eq!(client.push_all(Vec::new()).await?, []);
    let rows = vec![
        NewJob::new("A").args([1]),
        NewJob::new("A").args(["x"]),
        NewJob::new("A").set("args", "not-an-array"),
    ];
    let error = client.push_all(rows).await.err().ok_or("it was pushed")?;
    assert_eq!(error.to_string(), r#"push a job: args must be an array, found "not-an-array""#);
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_keeps_the_order_over_many_slices() -> Outcome {
    let (redis, client) = start().await?;
    let jobs: Vec<TestJob> = (0..2500).map(|index| TestJob(index, String::new())).collect();
    let jids = client.push_bulk(&jobs).await?;
    assert_eq!(jids.len(), 2500);
    let first = client.queue("default").page(0, 1).await?.entries.remove(0);
    assert_eq!(jids[0].as_ref().map(|jid| jid.as_str()), Some(RawJob::parse(&first)?.jid()));
    assert_eq!(redis.cli(&["LLEN", "cogworker:queue:default"]), 2500);
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_of_large_jobs_goes_in_slices_of_a_megabyte() -> Outcome {
    let (redis, client) = start().await?;
    let large = |number| TestJob(number, "x".repeat(400_000));
    // The last one is above the limit by itself.
    let mut jobs: Vec<TestJob> = (0..10).map(large).collect();
    jobs.push(TestJob(10, "x".repeat(1_200_000)));
    assert_eq!(client.push_bulk(&jobs).await?.iter().flatten().count(), 11);
    let numbers = queue(&redis, "default")
        .iter()
        .map(|raw| Ok(RawJob::parse(raw.as_bytes())?.args_json().split(',').next().map(str::to_owned)))
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    assert_eq!(numbers, (0..=10).rev().map(|number| Some(format!("[{number}"))).collect::<Vec<_>>());
    let calls = redis.cli(&["INFO", "commandstats"]);
    let pushes = calls.as_str().unwrap_or_default().lines().find(|line| line.contains("cmdstat_lpush:"));
    assert!(pushes.is_some_and(|line| line.contains("calls=6,")), "two jobs at a time: {pushes:?}");
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_that_fails_says_what_became_of_each_job() -> Outcome {
    let redis = TestRedis::start()?;
    let proxy = FaultProxy::start(&redis)?;
    let client = Client::connect(&RedisConfig::new(&proxy.url())?).await?;
    redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    let jobs = |second: &str| -> Vec<NewJob> {
        let queues = ["one", second, "one", "three"];
        let mut jobs: Vec<NewJob> = queues.iter().map(|queue| NewJob::new("A").queue(queue)).collect();
        jobs.push(NewJob::new("A").at(EpochSeconds::new(5e9)));
        jobs.into_iter().enumerate().map(|(at, job)| job.jid(format!("j{at}"))).collect()
    };
    let jid = |jid: &str| Jid::from(jid.to_owned());
    let pushed = |name: &str| JobFate::Done(Some(jid(name)));
    let error = client.push_all(jobs("bad")).await.err().ok_or("it was pushed")?;
    assert!(error.to_string().starts_with("push all jobs: after 2 of 5, failed to "), "{error}");
    let ClientError::Bulk { fates, .. } = error else { return Err(error.into()) };
    let not = JobFate::NotPushed;
    assert_eq!(fates, [pushed("j0"), not.clone(), pushed("j2"), not.clone(), not.clone()]);
    assert_eq!((queue(&redis, "one").len(), queue(&redis, "three").len()), (2, 0));

    proxy.cut_before_reply_to(b"cogworker:queue:two");
    let error = client.push_all(jobs("two")).await.err().ok_or("it was pushed")?;
    assert!(error.fate_is_unknown());
    assert!(
        error.to_string().starts_with("push all jobs: after 2 of 5, and perhaps 1 more, failed to "),
        "{error}"
    );
    let ClientError::Bulk { fates, .. } = error else { return Err(error.into()) };
    assert_eq!(fates, [pushed("j0"), JobFate::Unknown(jid("j1")), pushed("j2"), not.clone(), not]);
    assert_eq!(queue(&redis, "two").len(), 1, "and it was");
    Ok(())
}

#[tokio::test]
async fn jobs_of_later_batches_than_the_one_that_failed_are_not_pushed() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    let jobs = (0..2500).map(|at| NewJob::new("A").queue(if at == 1200 { "bad" } else { "good" }));
    let error = client.push_all(jobs.collect()).await.err().ok_or("it was pushed")?;
    let ClientError::Bulk { fates, .. } = error else { return Err(error.into()) };
    let pushed = |fate: &JobFate| matches!(fate, JobFate::Done(Some(_)));
    assert_eq!(fates.iter().filter(|fate| pushed(fate)).count(), queue(&redis, "good").len());
    assert!(fates[..1200].iter().all(pushed) && !pushed(&fates[1200]));
    assert!(fates[2000..].iter().all(|fate| *fate == JobFate::NotPushed) && fates.len() == 2500);
    Ok(())
}

#[tokio::test]
async fn a_key_prefix_goes_before_everything_that_is_written() -> Outcome {
    let redis = TestRedis::start()?;
    let config = RedisConfig::new(&redis.url())?.with_key_prefix("{cog}");
    let client = Client::connect(&config).await?;
    client.push(NewJob::new("A")).await?;
    client.push(NewJob::new("A").at(EpochSeconds::new(5e9))).await?;
    let mut keys = redis.cli(&["KEYS", "*"]).strings();
    keys.sort();
    assert_eq!(keys, ["{cog}cogworker:queue:default", "{cog}cogworker:queues", "{cog}cogworker:schedule"]);
    assert_eq!(client.stats().await?.enqueued, 1);
    Ok(())
}

#[tokio::test]
async fn a_redis_that_is_away_or_refuses_is_told_clearly() -> Outcome {
    let redis = TestRedis::start()?;
    let url = redis.url();
    redis.kill();
    let config = RedisConfig::new(&url)?.with_connect_timeout(Duration::from_millis(500));
    let error = Client::connect(&config).await.err().ok_or("it connected")?;
    assert!(error.is_outage(), "{error}");

    let locked = cogworker_testing::TestRedisOptions::new().requirepass("secret").start()?;
    let port = locked.port();
    let wrong = RedisConfig::single("127.0.0.1", port).with_password("wrong");
    assert!(Client::connect(&wrong).await.is_err());
    let right = RedisConfig::single("127.0.0.1", port).with_password("secret");
    assert!(Client::connect(&right).await?.push(NewJob::new("A")).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_unix_socket_works_like_a_port() -> Outcome {
    let redis = TestRedis::start()?;
    let url = format!("redis+unix://{}", redis.socket().display());
    let client = Client::connect(&RedisConfig::new(&url)?).await?;
    client.push(NewJob::new("A")).await?;
    assert_eq!(queue(&redis, "default").len(), 1);
    Ok(())
}
