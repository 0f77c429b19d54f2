//! Statuses: written by pushes, read, waited for.

use std::time::{Duration, Instant};

use cogworker_client::Wait;
use cogworker_core::formats::JobState;
use cogworker_core::new_job::NewJob;
use cogworker_core::time::EpochSeconds;

use cogworker_testing::TestRedis;

use crate::support::{Outcome, queue, start};

#[tokio::test]
async fn a_push_writes_the_status_queued_in_the_same_round_trip_stat_01() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_status(Duration::from_secs(1800));
    client.push(NewJob::new("Warm").jid("warm")).await?;
    redis.cli(&["CONFIG", "RESETSTAT"]);
    let jid = client.push(NewJob::new("A").queue("low")).await?.ok_or("not pushed")?;
    let calls = redis.cli(&["INFO", "commandstats"]);
    let calls = calls.as_str().unwrap_or_default();
    assert!(calls.contains("cmdstat_evalsha:calls=1,"), "{calls}");

    let status = client.status(&jid).await?.ok_or("no status")?;
    assert_eq!(status.state, JobState::Queued);
    assert_eq!((status.class.as_deref(), status.queue.as_deref()), (Some("A"), Some("low")));
    assert!(status.update_time.is_some_and(|at| EpochSeconds::now().since(at) < Duration::from_secs(5)));
    assert!(status.fields.is_empty());
    let left = redis.cli(&["TTL", &format!("status:{jid}")]).as_int().ok_or("no TTL")?;
    assert!((1790..=1800).contains(&left));
    assert_eq!(queue(&redis, "low").len(), 1);
    assert_eq!(client.status("unknown").await?, None);
    Ok(())
}

#[tokio::test]
async fn scheduled_and_bulk_pushes_have_a_status_and_duplicates_have_none_stat_01() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_status(Duration::from_secs(60));
    let unique = || NewJob::new("A").set("unique", "until_executed");
    let mut jobs: Vec<NewJob> = (0..600).map(|number| NewJob::new("A").args([number])).collect();
    jobs.extend([unique().jid("first"), unique().jid("twin"), NewJob::new("A").at(EpochSeconds::new(5e9))]);
    let jids = client.push_all(jobs).await?;
    assert_eq!(jids.iter().flatten().count(), 602);
    assert_eq!(redis.cli(&["EXISTS", "status:twin"]), 0);
    let scheduled = jids[602].as_ref().ok_or("not pushed")?;
    assert_eq!(client.status(scheduled).await?.map(|status| status.state), Some(JobState::Queued));
    Ok(())
}

#[tokio::test]
async fn a_status_kept_for_less_than_a_second_still_has_an_end_stat_01() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_status(Duration::from_millis(10));
    let jid = client.push(NewJob::new("A")).await?.ok_or("not pushed")?;
    let left = redis.cli(&["PTTL", &format!("status:{jid}")]).as_int().ok_or("no TTL")?;
    assert!(left <= 1000 && left != -1, "a second, or gone by: {left}");
    Ok(())
}

#[tokio::test]
async fn progress_and_own_fields_are_read_stat_05() -> Outcome {
    let (redis, client) = start().await?;
    let key = "status:j";
    redis.cli(&["HSET", key, "status", "working", "pct", "42", "message", "halfway", "rows", "1000"]);
    let status = client.status("j").await?.ok_or("no status")?;
    assert_eq!((status.state, status.pct), (JobState::Working, Some(42.0)));
    assert_eq!(status.message.as_deref(), Some("halfway"));
    assert_eq!(status.fields.get("rows").map(String::as_str), Some("1000"));

    redis.cli(&["HSET", key, "status", "resting", "pct", "most", "update_time", ""]);
    let status = client.status("j").await?.ok_or("no status")?;
    assert_eq!((status.state, status.pct, status.update_time), (JobState::Unknown, None, None));
    redis.cli(&["SET", "status:bad", "x"]);
    assert_eq!(client.status("bad").await?, None);
    Ok(())
}

#[tokio::test]
async fn a_wait_ends_with_the_job() -> Outcome {
    let (redis, client) = start().await?;
    let client = client.with_status(Duration::from_secs(60));
    for (state, at_once) in [("complete", true), ("failed", true), ("complete", false), ("failed", false)] {
        let jid = client.push(NewJob::new("A")).await?.ok_or("not pushed")?;
        let key = format!("status:{jid}");
        if at_once {
            redis.cli(&["HSET", &key, "status", state]);
        }
        let waiting = client.wait(&jid, Duration::from_secs(30));
        let working = async {
            for state in ["working", "retrying", "working", state] {
                if !at_once {
                    looked_again(&redis).await;
                    redis.cli(&["HSET", &key, "status", state]);
                }
            }
        };
        let (waited, ()) = tokio::join!(waiting, working);
        match waited? {
            Wait::Complete(status) if state == "complete" => assert_eq!(status.state, JobState::Complete),
            Wait::Failed(status) if state == "failed" => assert_eq!(status.state, JobState::Failed),
            other => return Err(format!("{state}: {other:?}").into()),
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_wait_says_when_the_time_is_up_or_there_is_no_status() -> Outcome {
    let (redis, client) = start().await?;
    let short = Duration::from_millis(50);
    redis.cli(&["HSET", "status:j", "status", "working"]);
    assert!(matches!(client.wait("j", short).await?, Wait::Unfinished(_)));
    let begin = Instant::now();
    assert_eq!(client.wait("unknown", short).await?, Wait::NoStatus);
    assert!(begin.elapsed() >= short, "it may come yet");
    assert_eq!(client.wait("unknown", Duration::ZERO).await?, Wait::NoStatus);

    let long = Duration::from_secs(60);
    let (waited, ()) = tokio::join!(client.wait("j", long), async {
        looked_again(&redis).await;
        redis.cli(&["DEL", "status:j"]);
    });
    assert_eq!(waited?, Wait::NoStatus);
    assert!(begin.elapsed() < long, "one that is gone does not come back");
    Ok(())
}

/// Waits until the status was read once more: a wait is under way.
async fn looked_again(redis: &TestRedis) {
    let reads = || {
        let stats = redis.cli(&["INFO", "commandstats"]);
        let calls = stats
            .as_str()
            .and_then(|stats| stats.split("cmdstat_hgetall:calls=").nth(1)?.split(',').next()?.parse().ok());
        calls.unwrap_or(0u64)
    };
    let before = reads();
    while reads() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
