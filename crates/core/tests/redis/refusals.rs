//! A server that takes no writes, or no more data: what each script makes of it.

use std::time::Duration;

use crate::support::{ME, Outcome, list};
use bytes::Bytes;
use cogworker_core::keys::KeyType;
use cogworker_core::locks::JobTraces;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts::{self, Beat, Filing, Held, Moves, Orphan, RecoveryLimits, SettleBatch, Traces};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::{TestRedis, TestRedisOptions};

const NOW: EpochSeconds = EpochSeconds::EPOCH;
const LIST: &str = "cogworker:inprogress:host:1:abcdefabcdef";
const DEAD: &str = "gone:1:aaaaaaaaaaaa";

fn raw(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Something for each script to move.
fn furnish(server: &TestRedis) {
    server.cli(&["RPUSH", "cogworker:queue:q", "waiting"]);
    server.cli(&["RPUSH", LIST, "held"]);
    server.cli(&["RPUSH", &format!("cogworker:inprogress:{DEAD}"), "orphan"]);
    server.cli(&["RPUSH", "cogworker:unsettled", "record"]);
    server.cli(&["ZADD", "cogworker:schedule", "1", "due"]);
}

async fn beat(redis: &Redis) -> Result<(), RedisError> {
    let queues = ["q".to_owned()];
    let (identity, info) = (ME, "{}".to_owned());
    let beat = Beat { identity, info, busy: 0, quiet: false, ttl: 60, reliable: true, queues: &queues };
    let reply = scripts::beat(redis, &beat).await?;
    reply.errors.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// Files a failure.
async fn settle(redis: &Redis) -> Result<(), RedisError> {
    let mut batch = SettleBatch::new(Held::Listed, (0, 0));
    batch.file(raw("held"), "cogworker:retry".into(), NOW, b"failed".to_vec(), Traces::default(), 0);
    scripts::settle_jobs(redis, ME, NOW, batch).await?.error.map_or(Ok(()), Err)
}

async fn fetch(redis: &Redis) -> Result<(), RedisError> {
    scripts::fetch_jobs(redis, ME, Held::Listed, &["q"], 1).await.map(drop)
}

async fn look_at_the_schedule(redis: &Redis) -> Result<(), RedisError> {
    scripts::due_jobs(redis, "cogworker:schedule".into(), NOW.plus(Duration::from_secs(9)), 5, 99)
        .await
        .map(drop)
}

async fn move_due(redis: &Redis) -> Result<(), RedisError> {
    let mut moves = Moves::new("cogworker:schedule".into(), Some(NOW.plus(Duration::from_secs(60))));
    moves.to_queue(raw("due"), b"now due".to_vec(), "other");
    scripts::move_entries(redis, moves).await?.error.map_or(Ok(()), Err)
}

async fn recover(redis: &Redis) -> Result<(), RedisError> {
    let limits =
        RecoveryLimits { orphan_threshold: Duration::from_secs(300), max_orphanings: 3, lock_ttl: 60 };
    let orphan =
        Orphan { job: raw("orphan"), queue: "other".into(), traces: JobTraces::default(), burial: None };
    match scripts::recover_jobs(redis, DEAD, limits, vec![orphan]).await? {
        scripts::Recovered::Dead { error: Some(error), .. } => Err(error),
        _ => Ok(()),
    }
}

async fn file(redis: &Redis) -> Result<(), RedisError> {
    let filing = Filing::File {
        element: raw("record"),
        target: "cogworker:dead".into(),
        score: NOW,
        entry: raw("entry"),
        counted: false,
        traces: JobTraces::default(),
    };
    scripts::file_records(redis, redis.keys().unsettled(), vec![filing]).await?.error.map_or(Ok(()), Err)
}

#[tokio::test]
async fn a_demoted_server_refuses_each_call_as_a_whole_and_loses_its_connection_p_50_out_01() -> Outcome {
    let server = TestRedis::start()?;
    furnish(&server);
    server.cli(&["SET", "cogworker:dead", "damaged"]);
    let redis = Redis::connect(&RedisConfig::new(&server.url())?).await?;
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let dead = [(redis.keys().dead(), KeyType::SortedSet)];
    // Each on a connection that has not been refused yet; a queue or schedule that looks empty is one too.
    for step in 0..13 {
        let before = connections_made(&server)?;
        let refused = match step {
            0 => beat(&redis).await,
            1 => settle(&redis).await,
            2 => fetch(&redis).await,
            3 => scripts::fetch_jobs(&redis, ME, Held::Listed, &["empty"], 1).await.map(drop),
            4 => look_at_the_schedule(&redis).await,
            5 => move_due(&redis).await,
            6 => recover(&redis).await,
            7 => file(&redis).await,
            8 => scripts::fetch_jobs(&redis, ME, Held::Popped, &["empty"], 1).await.map(drop),
            9 => scripts::find_dead_processes(&redis, Duration::from_secs(300), &[]).await.map(drop),
            10 => scripts::count_failures(&redis, 1).await.map(drop),
            11 => scripts::complete_burials(&redis, Vec::new()).await.map(drop),
            _ => scripts::quarantine_keys(&redis, &dead).await.map(drop),
        };
        assert!(matches!(refused, Err(RedisError::NotServing(_))), "{step}: {refused:?}");
        {
            let replaced = || connections_made(&server).is_ok_and(|now| now > before + 1);
            assert!(cogworker_testing::wait_until(Duration::from_secs(5), replaced), "{step}");
        }
    }
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(list(&server, LIST), ["held"]);
    settle(&redis).await?;
    assert_eq!(server.cli(&["ZRANGE", "cogworker:retry", "0", "-1"]).strings(), ["failed"]);
    Ok(())
}

/// Counts its own connection too.
fn connections_made(server: &TestRedis) -> Result<u64, Box<dyn std::error::Error>> {
    Ok(server.info("total_connections_received")?.ok_or("it is told")?.parse()?)
}

#[tokio::test]
async fn a_full_server_takes_what_makes_it_no_fuller_p_49() -> Outcome {
    for version in ["6.2", "7.0", "8.2"] {
        let server = TestRedisOptions::new().version(version).start()?;
        furnish(&server);
        let redis = Redis::connect(&RedisConfig::new(&server.url())?).await?;
        server.fill_memory()?;
        assert!(server.cli(&["SET", "x", "1"]).is_error());
        beat(&redis).await?;
        settle(&redis).await?;
        fetch(&redis).await?;
        look_at_the_schedule(&redis).await?;
        move_due(&redis).await?;
        recover(&redis).await?;
        file(&redis).await?;
        assert_eq!(scripts::count_failures(&redis, 2).await?.missing, 0, "{version}");
        assert_eq!(server.cli(&["ZRANGE", "cogworker:retry", "0", "-1"]).strings(), ["failed"], "{version}");
        assert_eq!(server.cli(&["ZRANGE", "cogworker:dead", "0", "-1"]).strings(), ["entry"]);
        assert_eq!(server.cli(&["GET", "cogworker:stats:failed"]), "3");
        assert_eq!(list(&server, LIST), ["waiting"]);
        assert_eq!(list(&server, "cogworker:queue:other"), ["now due", "orphan"]);
        assert_eq!(server.cli(&["EXISTS", "cogworker:schedule", "cogworker:unsettled"]), 0);

        let scheduled = scripts::schedule_jobs(&redis, vec![(NOW, b"{}".to_vec())]).await;
        assert!(matches!(scheduled, Err(RedisError::OutOfMemory(_))), "{scheduled:?}");
        assert_eq!(server.cli(&["EXISTS", "cogworker:schedule"]), 0);
    }
    Ok(())
}
