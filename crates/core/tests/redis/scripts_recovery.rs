//! Recovering what dead processes held, script by script.

use std::time::Duration;

use crate::support::{Outcome, list, start};
use bytes::Bytes;
use cogworker_core::locks::{JobLocks, JobTraces};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{
    self, Filing, ListEnd, Moves, Orphan, OrphanStep, RawBurial, Recovered, RecoveryLimits, Step,
};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

const DEAD: &str = "gone:1:aaaaaaaaaaaa";
const LIST: &str = "cogworker:inprogress:gone:1:aaaaaaaaaaaa";
const LIMITS: RecoveryLimits =
    RecoveryLimits { orphan_threshold: Duration::from_secs(300), max_orphanings: 1, lock_ttl: 86_400 };

fn raw(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn counted(job: &str) -> JobTraces {
    JobTraces { orphan_counter: Some(format!("cogworker:orphanings:{job}")), ..JobTraces::default() }
}

fn orphan(job: &str, queue: &str) -> Orphan {
    Orphan {
        job: raw(job),
        queue: queue.into(),
        traces: counted(job),
        burial: Some(format!("{job} died").into()),
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
async fn whose_end_was_seen_is_dead_though_the_clock_was_set_back_since_its_last_beat() -> Outcome {
    let (server, redis) = start().await?;
    let ahead = (server_time(&server) + 3600).to_string();
    server.cli(&["LPUSH", LIST, "job"]);
    server.cli(&["HSET", "cogworker:last_beat", DEAD, &ahead]);
    let limits = RecoveryLimits { orphan_threshold: Duration::ZERO, ..LIMITS };
    let recover = || scripts::recover_jobs(&redis, DEAD, limits, vec![orphan("job", "q")]);
    // Its presence says the contrary.
    server.cli(&["HSET", "cogworker:process:gone:1:aaaaaaaaaaaa", "info", "{}"]);
    assert!(matches!(recover().await?, Recovered::Alive));
    server.cli(&["DEL", "cogworker:process:gone:1:aaaaaaaaaaaa"]);
    assert!(matches!(recover().await?, Recovered::Dead { left: 0, .. }));
    assert_eq!(list(&server, "cogworker:queue:q"), ["job"]);
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
        let orphan =
            Orphan { traces: JobTraces { locks: locks.clone(), ..counted("job") }, ..orphan("job", "q") };
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
    recover(&redis, vec![Orphan { traces: JobTraces { locks, ..counted("job") }, ..orphan("job", "q") }])
        .await?;
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
        traces: counted("job"),
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
async fn peek_list_reads_from_either_end_as_much_as_one_call_should_carry() -> Outcome {
    let (server, redis) = start().await?;
    let list = || redis.keys().inprogress(DEAD);
    server.cli(&["RPUSH", LIST, "a", "b", "c"]);
    let peek = |end, skip| scripts::peek_list(&redis, list(), end, skip);
    let peeked = peek(ListEnd::Left, 0).await?;
    assert_eq!((peeked.elements, peeked.more), (vec![raw("a"), raw("b"), raw("c")], false));
    let peeked = peek(ListEnd::Right, 1).await?;
    assert_eq!((peeked.elements, peeked.more), (vec![raw("b"), raw("a")], false));
    assert!(peek(ListEnd::Left, 3).await?.elements.is_empty());

    // One that is larger than a call should carry comes alone.
    let large = "x".repeat(scripts::BATCH_BYTES + 1);
    server.cli(&[
        "RPUSH",
        LIST,
        &large,
        &large[..scripts::BATCH_BYTES / 2],
        &large[..scripts::BATCH_BYTES / 2],
    ]);
    let lengths = async |skip| -> Result<(Vec<usize>, bool), RedisError> {
        let peeked = peek(ListEnd::Left, skip).await?;
        Ok((peeked.elements.iter().map(Bytes::len).collect(), peeked.more))
    };
    assert_eq!(lengths(0).await?, (vec![1; 3], true));
    assert_eq!(lengths(3).await?, (vec![large.len()], true));
    assert_eq!(lengths(4).await?, (vec![scripts::BATCH_BYTES / 2; 2], false));
    let many: Vec<String> = (0..scripts::BATCH_LIMIT).map(|number| number.to_string()).collect();
    server.cli(&["DEL", LIST]);
    server.cli(&["RPUSH", LIST].into_iter().chain(many.iter().map(String::as_str)).collect::<Vec<_>>());
    let peeked = peek(ListEnd::Left, 0).await?;
    assert_eq!((peeked.elements.len(), peeked.more), (scripts::BATCH_LIMIT, false));
    server.cli(&["RPUSH", LIST, "more"]);
    let peeked = peek(ListEnd::Left, 0).await?;
    assert_eq!((peeked.elements.len(), peeked.more), (scripts::BATCH_LIMIT, true));
    Ok(())
}

#[tokio::test]
async fn a_job_recovered_too_often_is_left_until_its_entry_for_dead_is_given() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["LPUSH", LIST, "often", "once"]);
    server.cli(&["SET", "cogworker:orphanings:often", "1"]);
    let without = |job| Orphan { burial: None, ..orphan(job, "q") };
    let (steps, left, _) = recover(&redis, vec![without("once"), without("often")]).await?;
    assert_eq!((steps, left), (vec![OrphanStep::Requeued, OrphanStep::TooOften], 1));
    assert_eq!(server.cli(&["GET", "cogworker:orphanings:often"]), "1");
    assert_eq!(list(&server, LIST), ["often"]);
    assert_eq!(recover(&redis, vec![orphan("often", "q")]).await?.0, [OrphanStep::Buried]);
    assert_eq!(recover(&redis, vec![without("often")]).await?.0, [OrphanStep::Gone]);
    Ok(())
}

#[tokio::test]
async fn find_dead_processes_judges_many_at_once_as_recover_jobs_does() -> Outcome {
    let (server, redis) = start().await?;
    let now = server_time(&server);
    server.cli(&["HSET", "cogworker:process:lives", "busy", "0"]);
    server.cli(&["SET", "cogworker:process:odd", "x"]);
    for (identity, stamp) in [("young", (now - 120).to_string()), ("old", (now - 301).to_string())] {
        server.cli(&["HSET", "cogworker:last_beat", identity, &stamp]);
    }
    server.cli(&["HSET", "cogworker:last_beat", "unreadable", "x", "lives", "1"]);
    let names = ["lives", "odd", "young", "old", "unreadable", "unknown"].map(str::to_owned);
    let mut dead = Vec::new();
    for name in &names {
        if matches!(scripts::recover_jobs(&redis, name, LIMITS, Vec::new()).await?, Recovered::Dead { .. }) {
            dead.push(name.clone());
        }
    }
    assert_eq!(dead, ["old", "unreadable", "unknown"]);
    let found = |names: Vec<String>| {
        let redis = redis.clone();
        async move { scripts::find_dead_processes(&redis, LIMITS.orphan_threshold, &names).await }
    };
    assert_eq!(found(names.to_vec()).await?, dead);
    assert!(found(Vec::new()).await?.is_empty());
    // Without any stamps it is told by the presence.
    server.cli(&["SET", "cogworker:last_beat", "damaged"]);
    assert_eq!(found(names.to_vec()).await?, ["young", "old", "unreadable", "unknown"]);
    Ok(())
}

#[tokio::test]
async fn failures_that_cannot_be_counted_are_told_and_counted_later_proc_14() -> Outcome {
    let (server, redis) = start().await?;
    let keys = redis.keys();
    let damaged = keys.stats_failed();
    server.cli(&["RPUSH", &damaged, "no number"]);
    // Each way into dead that counts.
    server.cli(&["LPUSH", LIST, "orphan"]);
    server.cli(&["SET", "cogworker:orphanings:orphan", "1"]);
    let recovered = scripts::recover_jobs(&redis, DEAD, LIMITS, vec![orphan("orphan", "q")]).await?;
    let Recovered::Dead { count: recovered, .. } = recovered else { return Err("alive".into()) };

    server.cli(&["RPUSH", "cogworker:repeat_orphans", "parked"]);
    let (target, entry) = (keys.dead(), raw("parked died"));
    let (element, score, traces) = (raw("parked"), EpochSeconds::new(5.0), counted("parked"));
    let filing = Filing::File { element, target, score, entry, counted: true, traces };
    let filed = scripts::file_records(&redis, keys.repeat_orphans(), vec![filing]).await?.count;

    server.cli(&["ZADD", "cogworker:dead", "7", "raw"]);
    server.cli(&["SET", "cogworker:orphanings:raw", "2"]);
    let burial = RawBurial { job: raw("raw"), entry: raw("raw died"), traces: counted("raw") };
    let (_, completed) = scripts::complete_burials(&redis, vec![burial]).await?;

    server.cli(&["ZADD", "cogworker:schedule", "1", "due"]);
    let mut moves = Moves::new(keys.schedule(), None);
    moves.to_dead(raw("due"), b"due died".to_vec(), EpochSeconds::new(1.0));
    let moved = scripts::move_entries(&redis, moves).await?.count;

    assert_eq!(server.cli(&["ZCARD", "cogworker:dead"]), 4);
    let again = scripts::count_failures(&redis, 4).await?;
    for count in [&recovered, &filed, &completed, &moved] {
        assert_eq!((count.missing, matches!(count.error, Some(RedisError::WrongType(_)))), (1, true));
    }
    assert_eq!((again.missing, again.error.is_some()), (4, true));
    server.cli(&["DEL", &damaged]);
    let counted = scripts::count_failures(&redis, 4).await?;
    assert_eq!((counted.missing, counted.error.is_none()), (0, true));
    assert_eq!(server.cli(&["GET", &damaged]), "4");
    let hours = server.cli(&["KEYS", "cogworker:throughput:*"]).strings();
    assert_eq!(server.cli(&["HGET", &hours[0], "failed"]), "4");
    Ok(())
}
