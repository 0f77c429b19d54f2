//! The server behind the address changes roles, and its connections stay open (P-50).

use std::time::Duration;

use bytes::Bytes;
use cogworker_core::redis::{Call, Redis, RedisError, Waiter};
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts::{self, Beat, Held, Moves, SettleBatch, Traces};
use cogworker_core::time::EpochSeconds;
use cogworker_testing::{FaultProxy, TestRedis, TestRedisOptions, wait_until};

use crate::support::{ME, Outcome};

const SOON: Duration = Duration::from_secs(10);
const JOB: &str = r#"{"class":"A","jid":"j","queue":"q","args":[]}"#;
/// Scripts raise and catch errors differently in these.
const VERSIONS: [&str; 3] = ["6.2", "7.0", "8.2"];

/// Two servers, one after the other at one address.
struct Pair {
    old: TestRedis,
    new: TestRedis,
    proxy: FaultProxy,
}

impl Pair {
    fn start(version: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let old = TestRedisOptions::new().version(version).start()?;
        let (proxy, new) = (FaultProxy::start(&old)?, old.replica()?);
        Ok(Self { old, new, proxy })
    }

    fn fail_over(&self) -> Outcome {
        assert!(wait_until(SOON, || self.new.in_sync_with(&self.old).unwrap_or(false)));
        self.new.promote()?;
        self.old.demote(&self.new)?;
        self.proxy.retarget(&self.new)?;
        Ok(())
    }
}

/// One kind of call that writes; the error is what it failed with, wherever that stood.
async fn write(kind: &str, redis: &Redis) -> Result<(), RedisError> {
    match kind {
        "a command" => redis.command("SET", Call::new().key("k").arg("v")).await.map(drop),
        "a script that raises the error" => {
            let queues = ["q".to_owned()];
            let beat = Beat {
                identity: ME,
                info: "{}".into(),
                busy: 0,
                quiet: false,
                ttl: 60,
                reliable: true,
                queues: &queues,
            };
            scripts::beat(redis, &beat).await.map(drop)
        }
        "a settlement that catches it" => {
            let mut batch = SettleBatch::new(Held::Listed, (0, 0));
            let retry = redis.keys().retry();
            let now = EpochSeconds::now();
            batch.file(Bytes::from(JOB), retry, now, JOB.into(), Traces::default(), 0);
            let settled = scripts::settle_jobs(redis, ME, now, batch).await?;
            settled.error.map_or(Ok(()), Err)
        }
        _ => {
            let mut moves = Moves::new(redis.keys().schedule(), None);
            moves.to_queue(Bytes::from(JOB), JOB.into(), "q");
            scripts::move_entries(redis, moves).await?.error.map_or(Ok(()), Err)
        }
    }
}

const KINDS: [&str; 4] =
    ["a command", "a script that raises the error", "a settlement that catches it", "a move that catches it"];

#[tokio::test]
async fn a_connection_to_a_demoted_server_is_replaced_wherever_the_error_stands_p_50() -> Outcome {
    for version in VERSIONS {
        let pair = Pair::start(version)?;
        pair.old.cli(&["LPUSH", &format!("cogworker:inprogress:{ME}"), JOB]);
        pair.old.cli(&["ZADD", "cogworker:schedule", "1", JOB]);
        let config = RedisConfig::new(&pair.proxy.url())?;
        let mut connections = Vec::new();
        for kind in KINDS {
            let redis = Redis::connect(&config).await?;
            redis.command("GET", Call::new().key("k")).await?;
            connections.push((kind, redis));
        }
        pair.fail_over()?;
        for (kind, redis) in connections {
            let refused = write(kind, &redis).await;
            let is_outage = refused.as_ref().is_err_and(RedisError::is_outage);
            assert!(is_outage, "{kind} on {version}: {refused:?}");
            let again = async {
                while let Err(error) = write(kind, &redis).await {
                    assert!(error.is_outage(), "{kind} on {version}: {error:?}");
                }
            };
            let again = tokio::time::timeout(SOON, again).await;
            assert!(again.is_ok(), "{kind} on {version} goes to the demoted server for ever");
        }
        assert_eq!(pair.new.cli(&["LLEN", "cogworker:queue:q"]), 1, "{version}");
        assert_eq!(pair.new.cli(&["ZCARD", "cogworker:retry"]), 1, "{version}");
    }
    Ok(())
}

#[tokio::test]
async fn many_calls_that_fail_at_once_replace_the_connection_once_p_50() -> Outcome {
    let pair = Pair::start("7.0")?;
    let redis = Redis::connect(&RedisConfig::new(&pair.proxy.url())?).await?;
    redis.command("GET", Call::new().key("k")).await?;
    pair.fail_over()?;
    let before = pair.proxy.connections_seen();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200 {
        let redis = redis.clone();
        calls.spawn(async move { write(KINDS[number % KINDS.len()], &redis).await });
    }
    while calls.join_next().await.is_some() {}
    let again = async { while write(KINDS[0], &redis).await.is_err() {} };
    tokio::time::timeout(SOON, again).await?;
    assert_eq!(pair.proxy.connections_seen() - before, 1);
    Ok(())
}

#[tokio::test]
async fn a_wait_refused_by_a_demoted_server_is_the_last_one_there_p_50() -> Outcome {
    for version in VERSIONS {
        let pair = Pair::start(version)?;
        let waiter = Waiter::connect_lazily(&RedisConfig::new(&pair.proxy.url())?)?;
        let wait = || waiter.wait("source", Some("target"), Duration::from_millis(10), "paused", "q");
        assert!(wait().await?.is_none());
        pair.fail_over()?;
        let refused = wait().await;
        assert!(refused.as_ref().is_err_and(RedisError::is_outage), "{version}: {refused:?}");
        pair.new.cli(&["LPUSH", "source", "job"]);
        let taken = async {
            loop {
                if let Ok(Some(waited)) = wait().await {
                    return waited.element;
                }
            }
        };
        assert_eq!(tokio::time::timeout(SOON, taken).await?, "job", "{version}");
    }
    Ok(())
}
