//! What fails: counted, grouped, put back.

use bytes::Bytes;
use cogworker_client::failures::CENSUS_LIMIT;
use cogworker_core::raw_job::RawJob;

use crate::support::{Outcome, queue, start};

fn failed(jid: &str, queue: &str, error: &str, message: &str, at: f64) -> String {
    format!(
        r#"{{"class":"{error}Job","jid":"{jid}","queue":"{queue}","error_class":"{error}","error_message":"{message}","failed_at":{at:?}}}"#
    )
}

#[tokio::test]
async fn a_census_groups_by_class_and_levelled_message_over_retry_and_dead() -> Outcome {
    let (redis, client) = start().await?;
    for (set, score, job) in [
        ("retry", "900", failed("1", "a", "Timeout", "after 30 s", 100.0)),
        ("retry", "901", failed("2", "b", "Timeout", "after 31 s", 90.0)),
        ("dead", "500", failed("3", "a", "Timeout", "after 5 s", 80.0)),
        ("dead", "600", failed("4", "a", "Boom", "no", 70.0)),
    ] {
        redis.cli(&["ZADD", &format!("cogworker:{set}"), score, &job]);
    }
    redis.cli(&["ZADD", "cogworker:dead", "1", "not json"]);
    let census = client.failure_census().await?;
    assert!(census.is_complete);
    assert_eq!((census.searched, census.total), (5, 5));
    let names: Vec<_> =
        census.groups.iter().map(|group| (group.error_class.as_str(), group.message.as_str())).collect();
    assert_eq!(names, [("Boom", "no"), ("Timeout", "after N s")], "the one that failed last first");
    let timeouts = &census.groups[1];
    assert_eq!((timeouts.counts.retrying, timeouts.counts.dead), (2, 1));
    assert_eq!(timeouts.first_seen.map(|at| at.as_f64()), Some(80.0));
    assert_eq!(timeouts.last_seen.map(|at| at.as_f64()), Some(500.0));
    assert_eq!(timeouts.queues.iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((census.queues["a"].retrying, census.queues["a"].dead), (1, 2));
    Ok(())
}

#[tokio::test]
async fn a_census_of_too_many_says_so() -> Outcome {
    let (redis, client) = start().await?;
    let fill = "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', 'cogworker:dead', i, '{\"jid\":\"' .. i .. '\"}') end";
    redis.cli(&["EVAL", fill, "0", &(CENSUS_LIMIT + 1).to_string()]);
    let census = client.failure_census().await?;
    assert_eq!((census.searched, census.total), (CENSUS_LIMIT as u64, CENSUS_LIMIT as u64 + 1));
    assert!(!census.is_complete);
    Ok(())
}

#[tokio::test]
async fn only_matching_entries_are_requeued_and_each_once_p_22() -> Outcome {
    let (redis, client) = start().await?;
    for at in 0..1300 {
        let queue = if at % 3 == 0 { "a" } else { "b" };
        let job = failed(&at.to_string(), queue, "E", "m", 1.0);
        redis.cli(&["ZADD", "cogworker:retry", &at.to_string(), &job]);
    }
    let is_of_a = |raw: &Bytes| RawJob::parse(raw).is_ok_and(|job| job.queue() == Some("a"));
    let all = client.retries().requeue_matching(is_of_a).await?;
    assert_eq!((all.requeued, all.left), (434, 0));
    assert_eq!(queue(&redis, "a").len(), 434);
    assert_eq!(client.retries().size().await?, 866);
    Ok(())
}
