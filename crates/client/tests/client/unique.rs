//! Unique jobs.

use std::time::Duration;

use cogworker_client::middleware::{Next, from_fn};
use cogworker_client::{Client, ClientError, JobFate};
use cogworker_core::digest::unique_digest;
use cogworker_core::job::Job;
use cogworker_core::new_job::NewJob;
use cogworker_core::options::JobOptions;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{FaultProxy, TestRedis};
use serde::{Deserialize, Serialize};

use crate::support::{Outcome, queue, start};

#[derive(Serialize, Deserialize)]
struct Report(u32);

impl Job for Report {
    const CLASS: &'static str = "ReportJob";

    fn options() -> JobOptions {
        JobOptions::new().unique()
    }
}

fn lock_key(class: &str, queue: &str, args: &str) -> String {
    format!("cogworker:unique:{}", unique_digest(class, queue, args))
}

fn seconds_left(redis: &TestRedis, key: &str) -> i64 {
    redis.cli(&["TTL", key]).as_int().unwrap_or(-3)
}

fn unique(class: &str) -> NewJob {
    NewJob::new(class).set("unique", "until_executed")
}

#[tokio::test]
async fn of_four_equal_pushes_one_is_pushed_uniq_04_uniq_07() -> Outcome {
    let (redis, client) = start().await?;
    let first = client.perform_async(&Report(1)).await?.ok_or("not pushed")?;
    for _ in 0..3 {
        assert_eq!(client.perform_async(&Report(1)).await?, None);
    }
    assert_eq!(queue(&redis, "default").len(), 1);
    let key = lock_key("ReportJob", "default", "[1]");
    assert_eq!(redis.cli(&["GET", &key]), first.as_str());
    assert!((86_399..=86_400).contains(&seconds_left(&redis, &key)));
    assert_eq!(client.unique_lock(&Report(1)).await?, Some(first));
    assert_eq!(client.unique_lock(&Report(2)).await?, None);
    Ok(())
}

#[tokio::test]
async fn a_lock_that_another_holds_is_left_alone_uniq_05() -> Outcome {
    let (redis, client) = start().await?;
    let key = lock_key("ReportJob", "default", "[1]");
    redis.cli(&["SET", &key, "other-jid", "EX", "50"]);
    assert_eq!(client.perform_async(&Report(1)).await?, None);
    assert_eq!(client.perform_in(Duration::from_secs(1000), &Report(1)).await?, None);
    assert_eq!(redis.cli(&["GET", &key]), "other-jid");
    assert!(seconds_left(&redis, &key) <= 50);
    assert_eq!(redis.cli(&["DBSIZE"]), 1);
    Ok(())
}

#[tokio::test]
async fn other_args_another_queue_or_class_are_no_duplicates_uniq_02_uniq_08() -> Outcome {
    let (_redis, client) = start().await?;
    let jobs = [unique("A"), unique("A").args([1]), unique("A").queue("low"), unique("B")];
    for job in jobs {
        assert!(client.push(job.clone()).await?.is_some());
        assert_eq!(client.push(job.set("tags", "ignored").jid("x")).await?, None);
    }
    Ok(())
}

#[tokio::test]
async fn a_job_that_is_not_unique_takes_no_lock_uniq_06_uniq_10() -> Outcome {
    let (redis, client) = start().await?;
    let job = || NewJob::new("A").set("unique", "while_executing");
    for _ in 0..4 {
        assert!(client.push(job()).await?.is_some());
    }
    assert_eq!(client.unique_lock(job()).await?, None);
    assert_eq!(redis.cli(&["KEYS", "cogworker:unique:*"]).strings(), [""; 0]);
    assert_eq!(queue(&redis, "default").len(), 4);
    Ok(())
}

#[tokio::test]
async fn a_scheduled_jobs_lock_lasts_from_when_it_is_due_uniq_11() -> Outcome {
    let (redis, client) = start().await?;
    client.perform_in(Duration::from_secs(3 * 86_400), &Report(1)).await?;
    let left = seconds_left(&redis, &lock_key("ReportJob", "default", "[1]"));
    assert!((4 * 86_400 - 1..=4 * 86_400).contains(&left), "{left}");
    let client = client.with_unique_lock_ttl(Duration::from_millis(99_500));
    client.perform_async(&Report(2)).await?;
    let left = seconds_left(&redis, &lock_key("ReportJob", "default", "[2]"));
    assert!((99..=100).contains(&left), "rounded up: {left}");
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_finds_duplicates_within_itself_and_keeps_the_places() -> Outcome {
    let (redis, client) = start().await?;
    client.push(unique("A").args([700])).await?;
    let mut jobs: Vec<NewJob> = (0..1200).map(|number| unique("A").args([number / 2])).collect();
    jobs.push(unique("A").args([700]));
    jobs.push(NewJob::new("A").args([700]));
    let jids = client.push_all(jobs).await?;
    assert!(jids[..1200].iter().enumerate().all(|(at, jid)| jid.is_some() == (at % 2 == 0)));
    assert_eq!((jids[1200].is_some(), jids[1201].is_some(), jids.len()), (false, true, 1202));
    assert_eq!(redis.cli(&["LLEN", "cogworker:queue:default"]), 602);
    Ok(())
}

#[tokio::test]
async fn a_bulk_push_that_stops_says_how_far_it_came() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    let client = client.with_middleware(from_fn(|job: NewJob, next: Next| async move {
        if job.field_as::<String>("class").as_deref() == Some("Stopped") {
            Ok(None)
        } else {
            next.run(job).await
        }
    }));
    let jobs = vec![unique("A"), NewJob::new("Stopped"), unique("A"), unique("A").queue("bad"), unique("B")];
    let error = client.push_all(jobs).await.err().ok_or("it was pushed")?;
    assert!(error.to_string().starts_with("push all jobs: after 3 of 5, failed to "), "{error}");
    let ClientError::Bulk { fates, .. } = error else { return Err(error.into()) };
    assert!(matches!(&fates[0], JobFate::Done(Some(_))), "{fates:?}");
    use JobFate::{Done, NotPushed};
    assert_eq!(
        fates[1..],
        [Done(None), Done(None), NotPushed, NotPushed],
        "stopped, duplicate, refused, after it"
    );
    assert_eq!(client.unique_lock(unique("A").queue("bad")).await?, None, "no lock without a job");
    assert_eq!(client.unique_lock(unique("B")).await?, None);
    assert_eq!(queue(&redis, "default").len(), 1);
    Ok(())
}

#[tokio::test]
async fn client_and_worker_name_the_same_lock_whatever_the_args_p_33() -> Outcome {
    let (redis, client) = start().await?;
    // In the gem's spelling, and with what a middleware changes in between.
    let ruby = lock_key("ReportJob", "low", r#"[{"b":2.0,"a":1.0e+20},"é"]"#);
    let client = client
        .with_middleware(from_fn(|job: NewJob, next: Next| next.run(job.queue("low").set("tags", ["api"]))));
    let job = NewJob::from_json(
        r#"{"class":"ReportJob","args":[{"b":2.0,"a":1e20},"\u00e9"],"unique":"until_executed"}"#,
    )?;
    assert!(client.push(job.clone()).await?.is_some());
    assert_eq!(redis.cli(&["KEYS", "cogworker:unique:*"]).strings(), [ruby]);
    assert_eq!(client.push(job).await?, None);
    Ok(())
}

#[tokio::test]
async fn a_unique_push_whose_reply_was_lost_may_be_repeated() -> Outcome {
    let redis = TestRedis::start()?;
    let proxy = FaultProxy::start(&redis)?;
    let config = RedisConfig::new(&proxy.url())?.with_connect_timeout(Duration::from_secs(5));
    let client = Client::connect(&config).await?;
    client.push(unique("A")).await?; // the server knows the script from here on
    proxy.cut_before_reply_to(b"ReportJob");
    let job = || unique("ReportJob").jid("mine");
    match client.push(job()).await {
        Err(ClientError::Redis(error)) => assert!(error.fate_is_unknown(), "{error}"),
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(client.push(job()).await?, None, "it is there already");
    assert_eq!(client.unique_lock(job()).await?.as_ref().map(|jid| jid.as_str()), Some("mine"));
    assert_eq!(queue(&redis, "default").len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_unique_push_onto_a_queue_that_refuses_it_leaves_no_lock() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SET", "cogworker:queue:default", "x"]);
    assert!(matches!(client.perform_async(&Report(1)).await, Err(ClientError::Redis(_))));
    redis.cli(&["DEL", "cogworker:queue:default"]);
    assert!(client.perform_async(&Report(1)).await?.is_some());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_equal_pushes_by_many_clients_at_once_one_is_pushed_uniq_07() -> Outcome {
    let (redis, client) = start().await?;
    let mut pushes = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let client = Client::connect(client.redis().config()).await?;
        pushes.spawn(async move {
            let mut jids = Vec::new();
            for number in 0..100 {
                jids.push((number, client.perform_async(&Report(number)).await?));
            }
            Ok::<_, ClientError>(jids)
        });
    }
    let mut pushed = vec![0; 100];
    while let Some(jids) = pushes.join_next().await {
        for (number, jid) in jids?? {
            pushed[number as usize] += usize::from(jid.is_some());
        }
    }
    assert_eq!(pushed, [1; 100]);
    assert_eq!(queue(&redis, "default").len(), 100);
    Ok(())
}
