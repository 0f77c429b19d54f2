//! Fetching and settling, script by script.

use crate::support::{ME, Outcome, list, start};
use bytes::Bytes;
use cogworker_core::locks::{JobLocks, JobTraces};
use cogworker_core::scripts::{self, Held, SettleBatch, Settled, Step, Traces};
use cogworker_core::time::EpochSeconds;

pub(crate) const NOW: EpochSeconds = EpochSeconds::EPOCH;
/// A job without locks.
pub(crate) const NONE: JobLocks =
    JobLocks { jid: String::new(), unique: None, running: None, until_executed: false };
pub(crate) const LIST: &str = "cogworker:inprogress:host:1:abcdefabcdef";

pub(crate) fn raw(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub(crate) async fn settle(
    redis: &cogworker_core::redis::Redis,
    build: impl FnOnce(&mut SettleBatch),
) -> Result<Settled, cogworker_core::redis::RedisError> {
    let mut batch = SettleBatch::new(Held::Listed, (0, 0));
    build(&mut batch);
    scripts::settle_jobs(redis, ME, NOW, batch).await
}

#[tokio::test]
async fn fetch_jobs_moves_the_oldest_onto_the_list_rfetch_01() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:queue:q", "new", "older", "oldest"]);
    let fetched = scripts::fetch_jobs(&redis, ME, Held::Listed, &["q"], 2).await?;
    assert_eq!(fetched.taken[0].jobs, [raw("oldest"), raw("older")]);
    assert_eq!(list(&server, LIST), ["older", "oldest"], "new ones enter at the left");
    assert_eq!(list(&server, "cogworker:queue:q"), ["new"]);
    Ok(())
}

#[tokio::test]
async fn fetch_jobs_fills_up_from_further_queues_and_skips_paused_ones_rfetch_03() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:queue:a", "a1"]);
    server.cli(&["RPUSH", "cogworker:queue:p", "p1"]);
    server.cli(&["RPUSH", "cogworker:queue:b", "b2", "b1"]);
    server.cli(&["SADD", "cogworker:paused_queues", "p"]);
    let fetched = scripts::fetch_jobs(&redis, ME, Held::Listed, &["p", "a", "b"], 2).await?;
    assert_eq!(fetched.paused, [0]);
    let taken: Vec<_> = fetched.taken.iter().map(|from| (from.queue, from.jobs.clone())).collect();
    assert_eq!(taken, [(1, vec![raw("a1")]), (2, vec![raw("b1")])]);
    assert_eq!(list(&server, "cogworker:queue:p"), ["p1"]);
    Ok(())
}

#[tokio::test]
async fn a_queue_of_the_wrong_type_does_not_stop_the_others() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:queue:bad", "x"]);
    server.cli(&["RPUSH", "cogworker:queue:good", "g"]);
    let fetched = scripts::fetch_jobs(&redis, ME, Held::Listed, &["bad", "good"], 5).await?;
    assert_eq!((fetched.errors.len(), fetched.errors[0].queue, fetched.count()), (1, 0, 1));
    Ok(())
}

#[tokio::test]
async fn a_list_of_the_wrong_type_takes_nothing_off_the_queue() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", LIST, "x"]);
    server.cli(&["RPUSH", "cogworker:queue:q", "job"]);
    assert!(scripts::fetch_jobs(&redis, ME, Held::Listed, &["q"], 5).await.is_err());
    assert_eq!(list(&server, "cogworker:queue:q"), ["job"]);
    Ok(())
}

#[tokio::test]
async fn settle_jobs_acknowledges_in_any_order_and_counts_exactly() -> Outcome {
    let (server, redis) = start().await?;
    for order in [["1", "2", "3"], ["2", "3", "1"]] {
        server.cli(&["DEL", LIST]);
        server.cli(&["LPUSH", LIST, "1", "2", "3", "4"]);
        let settled =
            settle(&redis, |batch| order.iter().for_each(|job| batch.acknowledge(raw(job), &counted("x"))))
                .await?;
        assert_eq!(settled.steps, [Step::Applied; 3]);
        assert_eq!(list(&server, LIST), ["4"]);
    }
    assert_eq!(server.cli(&["GET", "cogworker:stats:processed"]), "6");
    assert_eq!(server.cli(&["HGET", "cogworker:throughput:0", "processed"]), "6");
    let ttl = server.cli(&["TTL", "cogworker:throughput:0"]).as_int().unwrap_or(0);
    assert!((89_990..=90_000).contains(&ttl), "CNT-03: {ttl}");
    Ok(())
}

#[tokio::test]
async fn settle_jobs_writes_and_counts_nothing_for_a_job_that_is_gone() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "mine"]);
    let settled = settle(&redis, |batch| {
        batch.acknowledge(raw("lost"), &counted("x"));
        batch.file(raw("lost too"), "cogworker:retry".into(), NOW, b"entry".to_vec(), Traces::default(), 0);
        batch.give_back(raw("lost as well"), "cogworker:queue:q".into(), &NONE, 0);
    })
    .await?;
    assert_eq!(settled.steps, [Step::Gone; 3]);
    let exists = server.cli(&[
        "EXISTS",
        "cogworker:retry",
        "cogworker:queue:q",
        "cogworker:stats:processed",
        "cogworker:stats:failed",
    ]);
    assert_eq!(exists, 0);
    assert_eq!(list(&server, LIST), ["mine"]);
    Ok(())
}

#[tokio::test]
async fn identical_payloads_are_settled_one_by_one_proc_11() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "twin", "twin"]);
    settle(&redis, |batch| batch.acknowledge(raw("twin"), &counted("x"))).await?;
    assert_eq!(list(&server, LIST), ["twin"]);
    Ok(())
}

#[tokio::test]
async fn a_failure_is_filed_recorded_and_counted_in_one_step() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["SET", "cogworker:orphanings:j", "2"]);
    for number in 0..30 {
        server.cli(&["RPUSH", "cogworker:job_attempts:j", &number.to_string()]);
    }
    let settled = settle(&redis, |batch| {
        let attempt = Some(("cogworker:job_attempts:j".into(), "record".into()));
        let due = EpochSeconds::new(12.5);
        let traces = Traces { attempt, job: counted("j") };
        batch.file(raw("job"), "cogworker:retry".into(), due, b"entry".to_vec(), traces, 0);
    })
    .await?;
    assert_eq!(settled.steps, [Step::Applied]);
    assert_eq!(server.cli(&["ZSCORE", "cogworker:retry", "entry"]), "12.5");
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["EXISTS", "cogworker:orphanings:j", LIST]), 0);
    let kept = list(&server, "cogworker:job_attempts:j");
    assert_eq!((kept.len(), kept[0].as_str(), kept[24].as_str()), (25, "6", "record"), "CNT-05");
    let ttl = server.cli(&["TTL", "cogworker:job_attempts:j"]).as_int().unwrap_or(0);
    assert!(ttl > 2_591_990, "CNT-06: {ttl}");
    Ok(())
}

#[tokio::test]
async fn a_destination_of_the_wrong_type_leaves_the_job_on_the_list_int_09() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "bad", "good"]);
    server.cli(&["SET", "cogworker:dead", "x"]);
    let settled = settle(&redis, |batch| {
        batch.file(raw("bad"), "cogworker:dead".into(), NOW, b"entry".to_vec(), Traces::default(), 0);
        batch.acknowledge(raw("good"), &counted("x"));
    })
    .await?;
    assert_eq!(settled.steps, [Step::Failed, Step::Applied]);
    assert!(settled.error.is_some());
    assert_eq!(list(&server, LIST), ["bad"]);
    assert_eq!(server.cli(&["EXISTS", "cogworker:stats:failed"]), 0);
    Ok(())
}

#[tokio::test]
async fn runs_that_cannot_be_counted_are_reported_for_the_next_batch() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["LPUSH", "cogworker:stats:processed", "x"]);
    let settled = settle(&redis, |batch| batch.acknowledge(raw("job"), &counted("x"))).await?;
    assert_eq!(settled.uncounted, (1, 0));
    server.cli(&["DEL", "cogworker:stats:processed"]);
    let next =
        scripts::settle_jobs(&redis, ME, NOW, SettleBatch::new(Held::Listed, settled.uncounted)).await?;
    assert_eq!(next.uncounted, (0, 0));
    assert_eq!(server.cli(&["GET", "cogworker:stats:processed"]), "1");
    Ok(())
}

#[tokio::test]
async fn a_job_given_back_is_the_next_to_be_taken_rfetch_09() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["LPUSH", "cogworker:queue:q", "waiting"]);
    settle(&redis, |batch| batch.give_back(raw("job"), "cogworker:queue:q".into(), &NONE, 0)).await?;
    assert_eq!(list(&server, "cogworker:queue:q"), ["waiting", "job"]);
    assert_eq!(server.cli(&["EXISTS", LIST, "cogworker:stats:processed", "cogworker:stats:failed"]), 0);
    Ok(())
}

#[tokio::test]
async fn giving_back_a_periodic_run_retakes_its_lock_only_if_it_is_free_or_its_own_req_07() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "periodic:running:own", "j", "EX", "5"]);
    server.cli(&["SET", "periodic:running:other", "newer", "EX", "5"]);
    for lock in ["lapsed", "own", "other"] {
        server.cli(&["LPUSH", LIST, lock]);
        let running = Some(format!("periodic:running:{lock}"));
        let locks = JobLocks { jid: "j".into(), running, until_executed: true, ..NONE };
        settle(&redis, |batch| batch.give_back(raw(lock), "cogworker:queue:q".into(), &locks, 86_400))
            .await?;
    }
    for (lock, owner, longer) in [("lapsed", "j", true), ("own", "j", true), ("other", "newer", false)] {
        assert_eq!(server.cli(&["GET", &format!("periodic:running:{lock}")]), owner);
        let ttl = server.cli(&["TTL", &format!("periodic:running:{lock}")]).as_int().unwrap_or(0);
        assert_eq!(ttl > 1000, longer, "{lock}: {ttl}");
    }
    Ok(())
}

#[tokio::test]
async fn a_script_is_sent_again_after_the_server_forgot_it_p_52() -> Outcome {
    let (server, redis) = start().await?;
    for _ in 0..3 {
        server.cli(&["RPUSH", "cogworker:queue:q", "job"]);
        server.cli(&["SCRIPT", "FLUSH"]);
        assert_eq!(scripts::fetch_jobs(&redis, ME, Held::Listed, &["q"], 1).await?.count(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn an_acknowledged_job_loses_its_orphan_counter_and_a_lost_one_keeps_it_rfetch_10() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "mine", "also mine"]);
    for jid in ["mine", "lost"] {
        server.cli(&["SET", &format!("cogworker:orphanings:{jid}"), "1"]);
    }
    settle(&redis, |batch| {
        for jid in ["lost", "mine"] {
            batch.acknowledge(raw(jid), &counted(jid));
        }
    })
    .await?;
    assert_eq!(server.cli(&["KEYS", "cogworker:orphanings:*"]).strings(), ["cogworker:orphanings:lost"]);
    Ok(())
}

/// What a job without locks leaves.
pub(crate) fn counted(jid: &str) -> JobTraces {
    JobTraces { orphan_counter: Some(format!("cogworker:orphanings:{jid}")), locks: NONE, status: None }
}

/// A job `j` with both locks, under keys of the test's own.
pub(crate) fn with_locks() -> JobLocks {
    JobLocks {
        jid: "j".into(),
        unique: Some("cogworker:unique:u".into()),
        running: Some("periodic:running:p".into()),
        until_executed: true,
    }
}

#[tokio::test]
async fn the_last_outcome_of_a_job_releases_its_locks_uniq_14_uniq_16_runlk_02() -> Outcome {
    let (server, redis) = start().await?;
    for outcome in ["done", "dead", "discarded"] {
        server.cli(&["LPUSH", LIST, "job"]);
        server.cli(&["MSET", "cogworker:unique:u", "j", "periodic:running:p", "j"]);
        let settled = settle(&redis, |batch| {
            let job = JobTraces { locks: with_locks(), ..counted("j") };
            let traces = Traces { attempt: None, job: job.clone() };
            match outcome {
                "done" => batch.acknowledge(raw("job"), &job),
                "dead" => batch.file(raw("job"), "cogworker:dead".into(), NOW, b"entry".to_vec(), traces, 0),
                _ => batch.discard(raw("job"), traces),
            }
        })
        .await?;
        assert_eq!(settled.steps, [Step::Applied], "{outcome}");
        let left = server.cli(&["EXISTS", LIST, "cogworker:unique:u", "periodic:running:p"]);
        assert_eq!(left, 0, "{outcome}");
    }
    assert_eq!(server.cli(&["GET", "cogworker:stats:processed"]), "1");
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "2");
    Ok(())
}

#[tokio::test]
async fn a_retry_holds_the_locks_for_longer_uniq_12_uniq_13() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["SET", "cogworker:unique:u", "j", "EX", "5"]);
    server.cli(&["SET", "periodic:running:p", "j", "EX", "5"]);
    settle(&redis, |batch| {
        let traces = Traces { attempt: None, job: JobTraces { locks: with_locks(), ..JobTraces::default() } };
        batch.file(raw("job"), "cogworker:retry".into(), NOW, b"entry".to_vec(), traces, 186_400);
    })
    .await?;
    for lock in ["cogworker:unique:u", "periodic:running:p"] {
        assert_eq!(server.cli(&["GET", lock]), "j");
        let ttl = server.cli(&["TTL", lock]).as_int().unwrap_or(0);
        assert!((186_395..=186_400).contains(&ttl), "{lock}: {ttl}");
    }
    Ok(())
}

#[tokio::test]
async fn anothers_lock_is_neither_released_nor_held_uniq_17_runlk_05() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "one", "two"]);
    server.cli(&["SET", "cogworker:unique:u", "another", "EX", "50"]);
    server.cli(&["HSET", "periodic:running:p", "no", "string"]);
    settle(&redis, |batch| {
        let job = JobTraces { locks: with_locks(), ..counted("j") };
        let traces = Traces { attempt: None, job: job.clone() };
        batch.acknowledge(raw("one"), &job);
        batch.file(raw("two"), "cogworker:retry".into(), NOW, b"entry".to_vec(), traces, 1000);
    })
    .await?;
    assert_eq!(server.cli(&["GET", "cogworker:unique:u"]), "another");
    assert!(server.cli(&["TTL", "cogworker:unique:u"]).as_int() <= Some(50));
    assert_eq!(server.cli(&["EXISTS", "periodic:running:p"]), 1);
    Ok(())
}

#[tokio::test]
async fn a_failure_that_cannot_be_filed_is_handed_over_and_counted_once_uns_01() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["SET", "cogworker:unique:u", "j"]);
    for expected in [Step::Applied, Step::Gone] {
        let settled = settle(&redis, |batch| {
            let traces =
                Traces { attempt: None, job: JobTraces { locks: with_locks(), ..JobTraces::default() } };
            batch.hand_over(raw("job"), "cogworker:unsettled".into(), b"record".to_vec(), traces, 0);
        })
        .await?;
        assert_eq!(settled.steps, [expected]);
    }
    assert_eq!(list(&server, "cogworker:unsettled"), ["record"]);
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["EXISTS", LIST]), 0);
    assert_eq!(server.cli(&["GET", "cogworker:unique:u"]), "j", "whoever files it releases it");
    Ok(())
}

#[tokio::test]
async fn popped_jobs_are_taken_for_good_from_queues_that_are_not_paused_bfetch_01_bfetch_02() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:queue:p", "paused"]);
    server.cli(&["RPUSH", "cogworker:queue:q", "new", "older", "oldest"]);
    server.cli(&["SADD", "cogworker:paused_queues", "p"]);
    let popped = scripts::fetch_jobs(&redis, ME, Held::Popped, &["p", "q"], 2).await?;
    assert_eq!((popped.paused.as_slice(), popped.taken[0].queue), ([0].as_slice(), 1));
    assert_eq!(popped.taken[0].jobs, [raw("oldest"), raw("older")]);
    assert_eq!(list(&server, "cogworker:queue:q"), ["new"]);
    assert_eq!(list(&server, "cogworker:queue:p"), ["paused"]);
    assert_eq!(server.cli(&["KEYS", "cogworker:inprogress:*"]).strings(), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn popped_jobs_are_settled_without_a_list() -> Outcome {
    let (server, redis) = start().await?;
    let mut batch = SettleBatch::new(Held::Popped, (0, 0));
    batch.file(raw("job"), "cogworker:retry".into(), NOW, b"entry".to_vec(), Traces::default(), 0);
    batch.acknowledge(raw("good"), &counted("x"));
    batch.give_back(raw("back"), "cogworker:queue:q".into(), &NONE, 0);
    assert_eq!(scripts::settle_jobs(&redis, ME, NOW, batch).await?.steps, [Step::Applied; 3]);
    assert_eq!(list(&server, "cogworker:queue:q"), ["back"]);
    assert_eq!(server.cli(&["ZCARD", "cogworker:retry"]), 1);
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["GET", "cogworker:stats:processed"]), "1");
    Ok(())
}

#[tokio::test]
async fn a_job_without_a_jid_is_acknowledged_without_a_counter() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["SET", "cogworker:orphanings:", "another's"]);
    let settled = settle(&redis, |batch| batch.acknowledge(raw("job"), &JobTraces::default())).await?;
    assert_eq!(settled.steps, [Step::Applied]);
    assert_eq!(server.cli(&["GET", "cogworker:stats:processed"]), "1");
    assert_eq!(server.cli(&["EXISTS", LIST, "cogworker:orphanings:"]), 1);
    Ok(())
}
