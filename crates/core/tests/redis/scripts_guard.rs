//! Moving damaged keys away, and walking through keys and members, script by script.

use std::collections::BTreeSet;

use crate::support::{Outcome, list, start, walk_keys};
use cogworker_core::keys::{Key, KeyType, escape_glob};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts::{self, BATCH_LIMIT};
use cogworker_testing::{TestRedis, TestRedisOptions};

/// The only copy of `key`.
fn only_copy(server: &TestRedis, key: &str) -> String {
    let copies = server.cli(&["KEYS", &format!("cogworker:quarantine:{key}:*")]).strings();
    assert_eq!(copies.len(), 1, "{copies:?}");
    copies[0].clone()
}

async fn walk_members(redis: &Redis, key: Key, kind: KeyType) -> Result<BTreeSet<String>, RedisError> {
    let (mut found, mut cursor) = (BTreeSet::new(), Some(0));
    while let Some(from) = cursor {
        let step = scripts::scan_members(redis, key.clone(), kind, from, 10).await?;
        found.extend(step.found);
        cursor = step.next;
    }
    Ok(found)
}

#[tokio::test]
async fn quarantine_keys_moves_a_key_of_the_wrong_type_and_leaves_the_others_guard_01() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["RPUSH", "cogworker:dead", "a", "b"]);
    server.cli(&["ZADD", "cogworker:retry", "1", "entry"]);
    let wrong = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?;
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!((wrong[0].key.as_str(), wrong[0].found.as_str()), ("cogworker:dead", "list"));
    assert_eq!(wrong[0].expected, KeyType::SortedSet);
    let copy = only_copy(&server, "cogworker:dead");
    assert_eq!(wrong[0].moved_to.as_ref().ok(), Some(&copy));
    assert_eq!(list(&server, &copy), ["a", "b"]);
    let ttl = server.cli(&["TTL", &copy]).as_int().unwrap_or(0);
    assert!((2_591_990..=2_592_000).contains(&ttl), "30 days: {ttl}");
    assert_eq!(server.cli(&["EXISTS", "cogworker:dead"]), 0);
    assert_eq!(server.cli(&["ZCARD", "cogworker:retry"]), 1);
    assert!(scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?.is_empty(), "nothing is left");
    Ok(())
}

#[tokio::test]
async fn every_guarded_key_is_told_its_type_guard_09() -> Outcome {
    let (server, redis) = start().await?;
    for (key, expected) in redis.keys().guarded() {
        let right: &[&str] = match expected {
            KeyType::String => &["SET", &key, "1"],
            KeyType::List => &["RPUSH", &key, "1"],
            KeyType::Set => &["SADD", &key, "1"],
            KeyType::SortedSet => &["ZADD", &key, "1", "1"],
            KeyType::Hash => &["HSET", &key, "1", "1"],
            other => return Err(format!("no value for a {other}").into()),
        };
        server.cli(right);
    }
    assert!(scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?.is_empty());
    server.flush()?;
    for (key, _) in redis.keys().guarded() {
        server.cli(&["XADD", &key, "*", "field", "value"]);
    }
    let wrong = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?;
    assert_eq!(wrong.len(), redis.keys().guarded().len());
    assert!(wrong.iter().all(|wrong| wrong.found == "stream" && wrong.moved_to.is_ok()), "{wrong:?}");
    Ok(())
}

#[tokio::test]
async fn the_same_key_moved_twice_at_once_leaves_two_copies_guard_06() -> Outcome {
    let (server, redis) = start().await?;
    let dead = [(redis.keys().dead(), KeyType::SortedSet)];
    let mut copies = BTreeSet::new();
    for value in ["first", "second"] {
        server.cli(&["SET", "cogworker:dead", value]);
        let wrong = scripts::quarantine_keys(&redis, &dead).await?;
        copies.extend(wrong.into_iter().filter_map(|wrong| wrong.moved_to.ok()));
    }
    let values: BTreeSet<String> =
        copies.iter().filter_map(|copy| server.cli(&["GET", copy]).as_str().map(str::to_owned)).collect();
    assert_eq!(values, ["first", "second"].map(String::from).into());
    Ok(())
}

#[tokio::test]
async fn a_prefix_stands_before_the_copys_name_too() -> Outcome {
    let server = TestRedis::start()?;
    let mut config = RedisConfig::new(&server.url())?;
    config.key_prefix = Some("{cog}".into());
    let redis = Redis::connect(&config).await?;
    server.cli(&["SET", "{cog}cogworker:dead", "x"]);
    server.cli(&["SET", "cogworker:dead", "another installation's"]);
    let wrong = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?;
    let copy = wrong[0].moved_to.clone()?;
    assert!(copy.starts_with("{cog}cogworker:quarantine:cogworker:dead:"), "{copy}");
    assert_eq!(server.cli(&["EXISTS", &copy, "cogworker:dead"]), 2);
    Ok(())
}

#[tokio::test]
async fn a_key_that_redis_refuses_to_move_is_told_and_stays() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:dead", "x"]);
    server.cli(&["SET", "cogworker:queues", "x"]);
    server.cli(&["ACL", "SETUSER", "default", "-renamenx"]);
    let wrong = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?;
    assert_eq!(wrong.len(), 2);
    assert!(wrong.iter().all(|wrong| wrong.moved_to.is_err()), "{wrong:?}");
    assert_eq!(server.cli(&["EXISTS", "cogworker:dead", "cogworker:queues"]), 2);
    server.cli(&["ACL", "SETUSER", "default", "+@all"]);
    let wrong = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?;
    assert!(wrong.len() == 2 && wrong.iter().all(|wrong| wrong.moved_to.is_ok()), "{wrong:?}");
    Ok(())
}

#[tokio::test]
async fn a_whole_batch_is_checked_in_one_call() -> Outcome {
    let (server, redis) = start().await?;
    let keys: Vec<(Key, KeyType)> = (0..BATCH_LIMIT)
        .map(|number| (redis.keys().queue(&format!("message:{number}")), KeyType::List))
        .collect();
    for (key, _) in &keys {
        server.cli(&["SET", key, "x"]);
    }
    let wrong = scripts::quarantine_keys(&redis, &keys).await?;
    assert_eq!(
        wrong.iter().map(|wrong| &wrong.key).collect::<Vec<_>>(),
        keys.iter().map(|(key, _)| key).collect::<Vec<_>>()
    );
    assert!(scripts::quarantine_keys(&redis, &[]).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_full_redis_does_not_keep_a_damaged_key_in_place() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "cogworker:dead", "x"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let wrong = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?;
    assert!(wrong.len() == 1 && wrong[0].moved_to.is_ok(), "{wrong:?}");
    Ok(())
}

#[tokio::test]
async fn scan_keys_finds_every_key_step_by_step_and_no_glob_neighbour() -> Outcome {
    let (server, redis) = start().await?;
    for number in 0..300 {
        server.cli(&["SET", &format!("other:{number}"), "x"]);
    }
    let names = ["a*b", "aXb", "a?c", "aXc", "a[d]", "ad", r"a\e", "ae", "message", "subscribe", "pubsub"];
    for name in names {
        server.cli(&["RPUSH", &redis.keys().queue(name), "job"]);
    }
    let all = walk_keys(&redis, &(escape_glob(&redis.keys().queue("")) + "*"), 7).await?;
    assert_eq!(all, names.map(|name| redis.keys().queue(name)).into());
    for name in names {
        let key = redis.keys().queue(name);
        assert_eq!(walk_keys(&redis, &escape_glob(&key), 1000).await?, [key].into());
    }
    Ok(())
}

#[tokio::test]
async fn scan_members_names_each_member_and_each_field_but_no_value() -> Outcome {
    let (server, redis) = start().await?;
    let names = ["message", "smessage", "pmessage", "subscribe", "unsubscribe", "pubsub"];
    let mut large: BTreeSet<String> = names.map(String::from).into();
    for kind in [KeyType::Set, KeyType::Hash] {
        let key = format!("cogworker:{kind}");
        let add = |name: &str| match kind {
            KeyType::Hash => server.cli(&["HSET", &key, name, "value"]),
            _ => server.cli(&["SADD", &key, name]),
        };
        names.iter().for_each(|name| drop(add(name)));
        assert_eq!(walk_members(&redis, key.clone(), kind).await?, names.map(String::from).into());
        // Above what Redis keeps in one piece, so that it takes many steps.
        for number in 0..1500 {
            let name = number.to_string();
            add(&name);
            large.insert(name);
        }
        assert_eq!(walk_members(&redis, key, kind).await?, large);
    }
    assert!(walk_members(&redis, "absent".into(), KeyType::Set).await?.is_empty());
    server.cli(&["SET", "cogworker:queues", "x"]);
    let refused = walk_members(&redis, redis.keys().queues(), KeyType::Set).await;
    assert!(matches!(refused, Err(RedisError::WrongType(_))), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn the_oldest_and_the_newest_server_move_keys_and_walk_through_them() -> Outcome {
    for version in ["6.0", "6.2", "8.2"] {
        let server = TestRedisOptions::new().version(version).start()?;
        let redis = Redis::connect(&RedisConfig::new(&server.url())?).await?;
        server.cli(&["SET", "cogworker:dead", "x"]);
        server.cli(&["HSET", "periodic:schedule", "pjid", "{}"]);
        server.cli(&["SADD", "cogworker:queues", "q"]);
        let copy = scripts::quarantine_keys(&redis, &redis.keys().guarded()).await?.remove(0).moved_to?;
        assert!(server.cli(&["TTL", &copy]).as_int().is_some_and(|ttl| ttl > 2_591_990), "{version}");
        assert_eq!(walk_keys(&redis, &redis.keys().quarantine_pattern(), 10).await?, [copy].into());
        let walk = |key, kind| walk_members(&redis, key, kind);
        assert_eq!(walk(redis.keys().queues(), KeyType::Set).await?, ["q".to_owned()].into());
        assert_eq!(walk(redis.keys().periodic_schedule(), KeyType::Hash).await?, ["pjid".to_owned()].into());
    }
    Ok(())
}
