//! Looking at what is there, and repairing it.

use std::time::Duration;

use bytes::Bytes;
use cogworker_client::Requeued;
use cogworker_core::jid::Jid;
use cogworker_core::time::EpochSeconds;

use crate::support::{Outcome, queue, start};

#[tokio::test]
async fn a_queue_tells_size_latency_and_pause_qapi_01_02_03() -> Outcome {
    let (redis, client) = start().await?;
    let old = r#"{"class":"A","enqueued_at":1000.0}"#;
    redis.cli(&["RPUSH", "cogworker:queue:q", old]);
    redis.cli(&["SADD", "cogworker:queues", "q", "empty"]);
    client.queue("q").pause().await?;
    let queues = client.queues().await?;
    assert_eq!(
        (queues[0].name.as_str(), queues[0].size, queues[0].latency),
        ("empty", Some(0), Duration::ZERO)
    );
    assert_eq!((queues[1].size, queues[1].paused), (Some(1), true));
    assert!(queues[1].latency > Duration::from_secs(1_000_000));
    client.queue("q").resume().await?;
    assert!(!client.queue("q").info().await?.paused);
    Ok(())
}

#[tokio::test]
async fn deleting_from_a_queue_takes_exactly_those_bytes_qapi_06() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["RPUSH", "cogworker:queue:q", r#"{"a":1}"#, r#"{"a": 1}"#]);
    assert!(client.queue("q").delete(&Bytes::from_static(br#"{"a": 1}"#)).await?);
    assert!(!client.queue("q").delete(&Bytes::from_static(br#"{"a": 1}"#)).await?);
    assert_eq!(queue(&redis, "q"), [r#"{"a":1}"#]);
    client.queue("q").clear().await?;
    assert_eq!(redis.cli(&["EXISTS", "cogworker:queue:q"]), 0);
    Ok(())
}

#[tokio::test]
async fn an_entry_is_addressed_by_its_bytes_not_by_its_score_p_23() -> Outcome {
    let (redis, client) = start().await?;
    let job = |jid: &str| format!(r#"{{"class":"A","jid":"{jid}","queue":"q"}}"#);
    redis.cli(&["ZADD", "cogworker:retry", "5", &job("1"), "5", &job("2"), "5", &job("3")]);
    assert!(client.retries().delete(&job("1").into()).await?);
    assert_eq!(client.retries().requeue(&job("2").into()).await?, Requeued::Requeued);
    assert_eq!(client.retries().requeue(&job("2").into()).await?, Requeued::Gone, "CLAIM-04");
    assert_eq!(redis.cli(&["ZRANGE", "cogworker:retry", "0", "-1"]).strings(), [job("3")]);
    assert_eq!(redis.cli(&["ZSCORE", "cogworker:retry", &job("3")]), "5");
    assert_eq!(queue(&redis, "q").len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_entry_that_cannot_be_requeued_stays_where_it_is_claim_02_03() -> Outcome {
    let (redis, client) = start().await?;
    let invalid = ["not json", "[1]", r#"{"class":"A"}"#, r#"{"queue":null}"#, r#"{"queue":""}"#];
    for entry in invalid {
        redis.cli(&["ZADD", "cogworker:dead", "1", entry]);
        assert_eq!(client.dead().requeue(&entry.into()).await?, Requeued::Invalid, "{entry}");
    }
    redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    let blocked = r#"{"queue":"bad"}"#;
    redis.cli(&["ZADD", "cogworker:dead", "1", blocked]);
    assert!(client.dead().requeue(&blocked.into()).await.is_err());
    assert_eq!(client.dead().size().await?, 6);
    assert_eq!(redis.cli(&["ZSCORE", "cogworker:dead", blocked]), "1");
    Ok(())
}

#[tokio::test]
async fn a_process_record_written_by_hand_is_a_full_process_pset_05() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SADD", "cogworker:processes", "h:1:a", "gone"]);
    redis.cli(&[
        "HSET",
        "cogworker:process:h:1:a",
        "info",
        r#"{"pid":1,"queues":["q"]}"#,
        "busy",
        "2",
        "quiet",
        "true",
    ]);
    let processes = client.processes().await?;
    assert_eq!(processes.len(), 1);
    let process = &processes[0];
    assert_eq!(
        (process.identity.as_str(), process.info.pid, process.busy, process.quiet),
        ("h:1:a", 1, 2, true)
    );
    Ok(())
}

#[tokio::test]
async fn throughput_is_a_series_without_gaps_cnt_01_02() -> Outcome {
    let (redis, client) = start().await?;
    let hour = (EpochSeconds::now().as_f64() / 3600.0) as u64;
    redis.cli(&["HSET", &format!("cogworker:throughput:{}", hour - 2), "processed", "2", "failed", "1"]);
    let series = client.throughput(24).await?;
    assert_eq!(series.len(), 24);
    let counts: Vec<(u64, u64)> = series.iter().map(|hour| (hour.processed, hour.failed)).collect();
    assert_eq!(counts[21..], [(2, 1), (0, 0), (0, 0)]);
    assert!(series.windows(2).all(|pair| pair[1].begins.as_f64() - pair[0].begins.as_f64() == 3600.0));
    Ok(())
}

#[tokio::test]
async fn attempts_come_oldest_first_and_can_be_cleared_cnt_04_06() -> Outcome {
    let (redis, client) = start().await?;
    for attempt in 1..=3 {
        let record = format!(
            r#"{{"attempt":{attempt},"failed_at":1.5,"outcome":"retrying","error_class":"E","error_message":"m"}}"#
        );
        redis.cli(&["RPUSH", "cogworker:job_attempts:j", &record]);
    }
    redis.cli(&["RPUSH", "cogworker:job_attempts:j", "broken"]);
    let attempts = client.attempts("j").await?;
    assert_eq!(attempts.iter().map(|record| record.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    client.clear_attempts(Jid::from("j")).await?;
    assert!(client.attempts("j").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn the_servers_info_is_read_field_by_field_cnt_09() -> Outcome {
    let (_redis, client) = start().await?;
    let info = client.redis_info().await?;
    assert!(info.get("redis_version").is_some_and(|version| version.contains('.')));
    assert!(info.contains_key("used_memory_human"));
    Ok(())
}

#[tokio::test]
async fn what_processes_hold_is_seen_and_which_of_them_live() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SADD", "cogworker:inprogress_identities", "b:2:dead", "a:1:lives", "c:3:bad"]);
    redis.cli(&["HSET", "cogworker:process:a:1:lives", "busy", "1"]);
    redis.cli(&["LPUSH", "cogworker:inprogress:b:2:dead", "old", "new"]);
    redis.cli(&["SET", "cogworker:inprogress:c:3:bad", "no list"]);
    let all = client.in_progress().await?;
    let seen: Vec<_> = all.iter().map(|it| (it.identity.as_str(), it.size, it.is_alive)).collect();
    assert_eq!(seen, [("a:1:lives", Some(0), true), ("b:2:dead", Some(2), false), ("c:3:bad", None, false)]);
    let page = all[1].page(0, 10).await?;
    assert_eq!((page.total, page.entries), (2, vec![Bytes::from("old"), Bytes::from("new")]));
    Ok(())
}
