//! Recovering what dead processes held, script by script.

use std::time::Duration;

use crate::support::{Outcome, list, start};
use bytes::Bytes;
use cogworker_core::locks::JobLocks;
use cogworker_core::redis::Redis;
use cogworker_core::scripts::{self, Filing, Orphan, OrphanStep, RawBurial, Recovered, RecoveryLimits, Step};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

const DEAD: &str = "gone:1:aaaaaaaaaaaa";
const LIST: &str = "cogworker:inprogress:gone:1:aaaaaaaaaaaa";
const LIMITS: RecoveryLimits =
    RecoveryLimits { orphan_threshold: Duration::from_secs(300), max_orphanings: 1, lock_ttl: 86_400 };

fn raw(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn orphan(job: &str, queue: &str) -> Orphan {
    Orphan {
        job: raw(job),
        queue: queue.into(),
        counter: Some(format!("cogworker:orphanings:{job}")),
        locks: JobLocks::default(),
        burial: format!("{job} died").into_bytes(),
    }
}

async fn recover(
    redis: &Redis,
    orphans: Vec<Orphan>,
) -> Result<(Vec<OrphanStep>, u64, Vec<String>), Box<dyn std::error::Error>> {
    match scripts::recover_jobs(redis, DEAD, LIMITS, orphans).await? {
        Recovered::Dead { steps, left, unread, .. } => Ok((steps, left, unread)),
        Recovered::Alive => Err("alive".into()),
    }
}

fn server_time(server: &TestRedis) -> i64 {
    server.cli(&["TIME"]).strings().first().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn recover_jobs_requeues_in_order_and_signs_the_process_off_orph_04_orph_05() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "old", "new"]);
    server.cli(&["LPUSH", "cogworker:queue:q", "waiting"]);
    server.cli(&["SADD", "cogworker:inprogress_identities", DEAD, "other"]);
    server.cli(&["HSET", "cogworker:last_beat", DEAD, "1", "other", "1"]);
    let (steps, left, unread) = recover(&redis, vec![orphan("new", "q"), orphan("old", "q")]).await?;
    assert_eq!((steps, left), (vec![OrphanStep::Requeued; 2], 0));
    assert_eq!(unread, ["q"], "ORPH-12");
    assert_eq!(list(&server, "cogworker:queue:q"), ["waiting", "new", "old"], "the oldest is taken first");
    assert_eq!(server.cli(&["SMEMBERS", "cogworker:inprogress_identities"]).strings(), ["other"]);
    assert_eq!(server.cli(&["HKEYS", "cogworker:last_beat"]).strings(), ["other"]);
    assert_eq!(server.cli(&["SISMEMBER", "cogworker:queues", "q"]), 1);
    assert_eq!(server.cli(&["GET", "cogworker:orphanings:old"]), "1");
    let ttl = server.cli(&["TTL", "cogworker:orphanings:old"]).as_int().unwrap_or(0);
    assert!((604_700..=604_800).contains(&ttl), "{ttl}");
    Ok(())
}

#[tokio::test]
async fn an_orphan_that_another_process_put_back_meanwhile_is_left_alone() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "old", "new"]);
    // Both have read the list before either moves anything.
    let orphans = || vec![orphan("new", "q"), orphan("old", "q")];
    assert_eq!(recover(&redis, orphans()).await?.0, [OrphanStep::Requeued; 2]);
    assert_eq!(recover(&redis, orphans()).await?.0, [OrphanStep::Gone; 2]);
    assert_eq!(list(&server, "cogworker:queue:q"), ["new", "old"]);
    assert_eq!(server.cli(&["GET", "cogworker:orphanings:old"]), "1", "it does not count");
    Ok(())
}

#[tokio::test]
async fn a_process_that_lives_or_beat_lately_is_left_alone_orph_03_orph_06() -> Outcome {
    let (server, redis) = start().await?;
    let young = (server_time(&server) - 120).to_string();
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["HSET", "cogworker:last_beat", DEAD, &young]);
    let outcome = scripts::recover_jobs(&redis, DEAD, LIMITS, vec![orphan("job", "q")]).await?;
    assert!(matches!(outcome, Recovered::Alive));
    server.cli(&["HDEL", "cogworker:last_beat", DEAD]);
    // Alive is alive, whatever the type of its key.
    server.cli(&["SET", "cogworker:process:gone:1:aaaaaaaaaaaa", "x"]);
    let outcome = scripts::recover_jobs(&redis, DEAD, LIMITS, vec![orphan("job", "q")]).await?;
    assert!(matches!(outcome, Recovered::Alive));
    assert_eq!(list(&server, LIST), ["job"]);
    Ok(())
}

#[tokio::test]
async fn an_old_or_unreadable_stamp_is_no_sign_of_life_orph_07_orph_08() -> Outcome {
    let (server, redis) = start().await?;
    let old = (server_time(&server) - 301).to_string();
    for stamp in [old.as_str(), "garbage"] {
        server.cli(&["LPUSH", LIST, "job"]);
        server.cli(&["HSET", "cogworker:last_beat", DEAD, stamp]);
        server.cli(&["DEL", "cogworker:orphanings:job"]);
        assert_eq!(recover(&redis, vec![orphan("job", "q")]).await?.0, [OrphanStep::Requeued], "{stamp}");
    }
    Ok(())
}

#[tokio::test]
async fn a_blocked_job_stays_and_does_not_hold_up_the_others_orph_10_orph_11() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "one", "blocked", "two"]);
    server.cli(&["SADD", "cogworker:inprogress_identities", DEAD]);
    server.cli(&["SET", "cogworker:queue:bad", "x"]);
    let orphans = vec![orphan("two", "q"), orphan("blocked", "bad"), orphan("one", "q")];
    let (steps, left, _) = recover(&redis, orphans).await?;
    assert_eq!(steps, [OrphanStep::Requeued, OrphanStep::Blocked, OrphanStep::Requeued]);
    assert_eq!((left, list(&server, LIST)), (1, vec!["blocked".to_owned()]));
    assert_eq!(server.cli(&["SCARD", "cogworker:inprogress_identities"]), 1);
    assert_eq!(server.cli(&["EXISTS", "cogworker:orphanings:blocked"]), 0, "it was not recovered");
    Ok(())
}

#[tokio::test]
async fn a_queue_that_a_live_process_reads_is_not_reported_orph_13() -> Outcome {
    let (server, redis) = start().await?;
    let (now, long_ago) = (server_time(&server), server_time(&server) - 4000);
    server.cli(&["ZADD", "cogworker:live_queues", &now.to_string(), "read", &long_ago.to_string(), "once"]);
    server.cli(&["LPUSH", LIST, "a", "b"]);
    let (_, _, unread) = recover(&redis, vec![orphan("a", "read"), orphan("b", "once")]).await?;
    assert_eq!(unread, ["once"]);
    Ok(())
}

#[tokio::test]
async fn a_job_recovered_too_often_is_buried_with_its_locks_maxo_01_maxo_04() -> Outcome {
    let (server, redis) = start().await?;
    for key in ["cogworker:unique:u", "periodic:running:p"] {
        server.cli(&["SET", key, "j"]);
    }
    let locks = JobLocks {
        jid: "j".into(),
        unique: Some("cogworker:unique:u".into()),
        running: Some("periodic:running:p".into()),
        until_executed: true,
    };
    for expected in [OrphanStep::Requeued, OrphanStep::Buried] {
        server.cli(&["LPUSH", LIST, "job"]);
        let orphan = Orphan { locks: locks.clone(), ..orphan("job", "q") };
        assert_eq!(recover(&redis, vec![orphan]).await?.0, [expected]);
    }
    assert_eq!(server.cli(&["ZRANGE", "cogworker:dead", "0", "-1"]).strings(), ["job died"]);
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    let kept = ["EXISTS", "cogworker:unique:u", "periodic:running:p", "cogworker:orphanings:job", LIST];
    assert_eq!(server.cli(&kept), 0);
    Ok(())
}

#[tokio::test]
async fn a_requeued_periodic_run_takes_its_lapsed_lock_again_req_07() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "job"]);
    let running = Some("periodic:running:p".into());
    let locks = JobLocks { jid: "j".into(), running, until_executed: true, unique: None };
    recover(&redis, vec![Orphan { locks, ..orphan("job", "q") }]).await?;
    assert_eq!(server.cli(&["GET", "periodic:running:p"]), "j");
    assert!(server.cli(&["TTL", "periodic:running:p"]).as_int() > Some(86_000));
    Ok(())
}

#[tokio::test]
async fn a_counter_of_another_type_starts_over_maxo_06_maxo_07() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:orphanings:list", "x"]);
    server.cli(&["SET", "cogworker:orphanings:text", "lots"]);
    for expected in [OrphanStep::Requeued, OrphanStep::Buried] {
        for job in ["list", "text"] {
            server.cli(&["LPUSH", LIST, job]);
            assert_eq!(recover(&redis, vec![orphan(job, "q")]).await?.0, [expected], "{job}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn where_dead_refuses_it_a_repeat_orphan_is_parked_and_filed_later_maxo_03() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:dead", "x"]);
    server.cli(&["SET", "cogworker:orphanings:job", "1"]);
    server.cli(&["LPUSH", LIST, "job"]);
    assert_eq!(recover(&redis, vec![orphan("job", "q")]).await?.0, [OrphanStep::Parked]);
    assert_eq!(list(&server, "cogworker:repeat_orphans"), ["job"]);
    let filing = || Filing::File {
        element: raw("job"),
        target: "cogworker:dead".into(),
        score: EpochSeconds::new(5.0),
        entry: raw("job died"),
        counted: true,
        counter: Some("cogworker:orphanings:job".into()),
        locks: JobLocks::default(),
    };
    let source = || redis.keys().repeat_orphans();
    let refused = scripts::file_records(&redis, source(), vec![filing()]).await?;
    assert_eq!((refused.steps, refused.error.is_some()), (vec![Step::Failed], true));
    assert_eq!(list(&server, "cogworker:repeat_orphans"), ["job"]);
    server.cli(&["DEL", "cogworker:dead"]);
    for expected in [Step::Applied, Step::Gone] {
        assert_eq!(scripts::file_records(&redis, source(), vec![filing()]).await?.steps, [expected]);
    }
    assert_eq!(server.cli(&["ZSCORE", "cogworker:dead", "job died"]), "5");
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["EXISTS", "cogworker:orphanings:job", "cogworker:repeat_orphans"]), 0);
    Ok(())
}

#[tokio::test]
async fn file_records_sets_unusable_ones_aside_uns_03() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:unsettled", "junk"]);
    let filings = vec![Filing::Unusable { element: raw("junk") }];
    let filed = scripts::file_records(&redis, redis.keys().unsettled(), filings).await?;
    assert_eq!(filed.steps, [Step::Applied]);
    let records = "cogworker:quarantine:cogworker:unsettled:records";
    assert_eq!(list(&server, records), ["junk"]);
    assert!(server.cli(&["TTL", records]).as_int() > Some(2_591_000));
    assert_eq!(server.cli(&["EXISTS", "cogworker:unsettled", "cogworker:stats:failed"]), 0);
    Ok(())
}

#[tokio::test]
async fn complete_burials_swaps_a_raw_entry_once_maxo_10() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "cogworker:dead", "7.5", "job"]);
    server.cli(&["SET", "cogworker:unique:u", "another"]);
    let burial = || {
        let unique = Some("cogworker:unique:u".into());
        let locks = JobLocks { jid: "j".into(), unique, ..JobLocks::default() };
        let counter = "cogworker:orphanings:job".into();
        RawBurial { job: raw("job"), entry: b"job died".to_vec(), counter, locks }
    };
    assert_eq!(scripts::complete_burials(&redis, vec![burial()]).await?, [Step::Gone], "put there otherwise");
    server.cli(&["SET", "cogworker:orphanings:job", "2"]);
    assert_eq!(scripts::complete_burials(&redis, vec![burial()]).await?, [Step::Applied]);
    assert_eq!(scripts::complete_burials(&redis, vec![burial()]).await?, [Step::Gone]);
    let dead = server.cli(&["ZRANGE", "cogworker:dead", "0", "-1", "WITHSCORES"]).strings();
    assert_eq!(dead, ["job died", "7.5"]);
    assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "1");
    assert_eq!(server.cli(&["GET", "cogworker:unique:u"]), "another", "UNIQ-17");
    Ok(())
}

#[tokio::test]
async fn prune_processes_takes_off_only_those_whose_presence_lapsed() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SADD", "cogworker:processes", "lives", "lapsed"]);
    server.cli(&["HSET", "cogworker:process:lives", "busy", "0"]);
    let identities = ["lives".to_owned(), "lapsed".to_owned()];
    assert_eq!(scripts::prune_processes(&redis, &identities).await?, 1);
    assert_eq!(server.cli(&["SMEMBERS", "cogworker:processes"]).strings(), ["lives"]);
    Ok(())
}

#[tokio::test]
async fn newest_inprogress_begins_with_the_newest_after_those_skipped() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "old", "newer", "newest"]);
    assert_eq!(scripts::newest_inprogress(&redis, DEAD, 0).await?, [raw("newest"), raw("newer"), raw("old")]);
    assert_eq!(scripts::newest_inprogress(&redis, DEAD, 2).await?, [raw("old")]);
    Ok(())
}
