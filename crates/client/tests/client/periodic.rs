//! Periodic entries, as a program without a worker sees and steers them.

use cogworker_client::ClientError;
use cogworker_client::middleware::{Next, from_fn};
use cogworker_core::digest::periodic_id;
use cogworker_core::formats::periodic_entry_json;
use cogworker_core::new_job::NewJob;
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

use crate::support::{Outcome, queue, start};

const CRON: &str = "0 3 * * * Europe/Berlin";

/// Publishes an entry as a worker does; its id.
fn publish(redis: &TestRedis, class: &str, retry: &str, until_executed: bool, args: &str) -> String {
    let pjid = periodic_id(CRON, class, args);
    let entry = periodic_entry_json(CRON, class, retry, until_executed, args);
    redis.cli(&["HSET", "periodic:schedule", &pjid, &entry]);
    pjid
}

#[tokio::test]
async fn published_entries_are_listed_with_how_they_stand_pent_04_webs_05() -> Outcome {
    let (redis, client) = start().await?;
    assert!(client.periodic().list().await?.jobs.is_empty(), "nothing is published");
    let plain = publish(&redis, "CleanupJob", "0", false, "[]");
    let held = publish(&redis, "ReportJob", "true", true, r#"[{"n":1.0},123456789012345678901]"#);
    redis.cli(&["SET", &format!("periodic:last_slot:{held}"), "1796004000"]);
    redis.cli(&["SET", &format!("periodic:running:{held}"), "jid-1"]);
    redis.cli(&["SADD", "periodic:disabled", &held]);
    let jobs = client.periodic().list().await?.jobs;
    let [first, second] = jobs.as_slice() else { return Err(format!("two entries: {jobs:?}").into()) };
    assert_eq!(
        (first.pjid.as_str(), first.class.as_str(), first.cron.as_str()),
        (&*plain, "CleanupJob", CRON)
    );
    assert_eq!((first.retry.as_str(), first.args.as_str(), first.until_executed), ("0", "[]", false));
    assert_eq!((first.last_slot, first.disabled, &first.running), (None, false, &None));
    assert_eq!((second.pjid.as_str(), second.retry.as_str(), second.until_executed), (&*held, "true", true));
    assert_eq!(second.args, r#"[{"n":1.0},123456789012345678901]"#, "byte for byte");
    assert_eq!((second.last_slot, second.disabled), (Some(EpochSeconds::new(1_796_004_000.0)), true));
    assert_eq!(second.running.as_ref().map(|jid| jid.as_str()), Some("jid-1"));
    Ok(())
}

#[tokio::test]
async fn entries_that_cannot_be_read_are_named_and_hide_no_others() -> Outcome {
    let (redis, client) = start().await?;
    let good = publish(&redis, "CleanupJob", "0", false, "[]");
    redis.cli(&["HSET", "periodic:schedule", "broken", "{", "list", "[1]"]);
    redis.cli(&["SET", "periodic:disabled", "no set"]);
    redis.cli(&["LPUSH", &format!("periodic:last_slot:{good}"), "no string"]);
    redis.cli(&["LPUSH", &format!("periodic:running:{good}"), "no string"]);
    let published = client.periodic().list().await?;
    assert_eq!(published.unreadable, ["broken", "list"]);
    let [job] = published.jobs.as_slice() else { return Err(format!("one: {published:?}").into()) };
    assert_eq!((job.disabled, job.last_slot, &job.running), (false, None, &None), "TICK-15");
    let refused = client.periodic().run_now("broken").await;
    assert!(
        matches!(&refused, Err(ClientError::UnreadableEntry { pjid }) if pjid == "broken"),
        "{refused:?}"
    );
    redis.cli(&["DEL", "periodic:schedule"]);
    redis.cli(&["SET", "periodic:schedule", "no hash"]);
    assert!(client.periodic().list().await.is_err());
    Ok(())
}

#[tokio::test]
async fn more_entries_than_one_step_reads_are_listed_each_once() -> Outcome {
    let (redis, client) = start().await?;
    let mut pjids: Vec<String> =
        (0..1500).map(|n| publish(&redis, "CleanupJob", "0", false, &format!("[{n}]"))).collect();
    pjids.sort();
    let listed = client.periodic().list().await?.jobs;
    assert_eq!(listed.into_iter().map(|job| job.pjid).collect::<Vec<_>>(), pjids);
    Ok(())
}

#[tokio::test]
async fn an_entry_is_switched_off_and_on_webs_07() -> Outcome {
    let (redis, client) = start().await?;
    let pjid = publish(&redis, "CleanupJob", "0", false, "[]");
    let periodic = client.periodic();
    for _ in 0..2 {
        periodic.disable(&pjid).await?;
        assert_eq!(redis.cli(&["SMEMBERS", "periodic:disabled"]).strings(), [pjid.as_str()]);
        assert!(periodic.list().await?.jobs.iter().all(|job| job.disabled));
    }
    for _ in 0..2 {
        periodic.enable(&pjid).await?;
        assert_eq!(redis.cli(&["EXISTS", "periodic:disabled"]), 0);
        assert!(periodic.list().await?.jobs.iter().all(|job| !job.disabled));
    }
    Ok(())
}

#[tokio::test]
async fn run_now_pushes_one_ordinary_job_on_the_default_queue_webs_06() -> Outcome {
    let (redis, client) = start().await?;
    let pjid = publish(&redis, "ReportJob", "3", true, r#"[{"b":1,"a":1.0}]"#);
    client.periodic().disable(&pjid).await?;
    let running = format!("periodic:running:{pjid}");
    redis.cli(&["SET", &running, "another"]);
    let jid = client.periodic().run_now(&pjid).await?.ok_or("not pushed")?;
    let jobs = queue(&redis, "default");
    let [job] = jobs.as_slice() else { return Err(format!("one job: {jobs:?}").into()) };
    assert!(job.contains(r#""args":[{"b":1,"a":1.0}]"#), "byte for byte: {job}");
    let job: serde_json::Value = serde_json::from_str(job)?;
    assert_eq!(
        (&job["class"], &job["jid"], &job["retry"]),
        (&"ReportJob".into(), &jid.as_str().into(), &3.into())
    );
    let mut fields: Vec<&str> = job.as_object().ok_or("an object")?.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["args", "class", "created_at", "enqueued_at", "jid", "queue", "retry"]);
    assert_eq!(redis.cli(&["GET", &running]), "another");
    assert_eq!(redis.cli(&["KEYS", "periodic:last_slot:*"]).strings(), [""; 0]);
    assert_eq!(client.periodic().run_now("nobody's").await?, None);
    let elsewhere = client.periodic().run_now_on(&pjid, "low").await?.ok_or("not pushed")?;
    assert!(queue(&redis, "low").iter().all(|job| job.contains(elsewhere.as_str())));
    assert_eq!(queue(&redis, "low").len(), 1);
    let stopping = client.with_middleware(from_fn(|_: NewJob, _: Next| async { Ok(None) }));
    assert_eq!(stopping.periodic().run_now(&pjid).await?, None);
    assert_eq!(queue(&redis, "default").len(), 1);
    Ok(())
}
