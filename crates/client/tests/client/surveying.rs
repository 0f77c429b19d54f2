//! Whether Redis itself is as it should be, and whether processes hear.

use cogworker_client::Control;
use cogworker_core::redis::ServerVersion;
use cogworker_testing::TestRedisOptions;

use crate::support::{Outcome, start};

#[tokio::test]
async fn the_server_tells_its_version_memory_saving_and_clock() -> Outcome {
    let (redis, client) = start().await?;
    let info = client.server_info().await?;
    assert!(info.version >= Some(ServerVersion::RELIABLE_FETCH), "{info:?}");
    assert!(info.product.contains(' ') && info.used_memory > Some(100_000), "{info:?}");
    assert_eq!((info.max_memory, info.eviction_policy.as_deref()), (None, Some("noeviction")));
    assert_eq!((info.append_only, info.role.as_deref()), (Some(false), Some("master")));
    assert!(info.last_save_ok == Some(true) && info.last_save.is_some(), "{info:?}");
    // The same machine's clock, and a test machine may be busy.
    assert!(info.clock_ahead.abs() <= 1.0 + info.round_trip.as_secs_f64(), "{info:?}");
    redis.cli(&["CONFIG", "SET", "maxmemory", "100mb"]);
    redis.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    redis.cli(&["SET", "x", "y"]);
    let info = client.server_info().await?;
    assert_eq!(info.max_memory, Some(100 << 20));
    assert_eq!(info.eviction_policy.as_deref(), Some("allkeys-lru"));
    assert!(info.unsaved_changes >= Some(1), "{info:?}");
    Ok(())
}

#[tokio::test]
async fn an_old_server_tells_all_that_too() -> Outcome {
    let redis = TestRedisOptions::new().version("6.0").start()?;
    let config = cogworker_core::redis_config::RedisConfig::new(&redis.url())?;
    let info = cogworker_client::Client::connect(&config).await?.server_info().await?;
    assert!(info.version < Some(ServerVersion::RELIABLE_FETCH), "{info:?}");
    assert!(info.eviction_policy.is_some() && info.append_only.is_some(), "{info:?}");
    Ok(())
}

#[tokio::test]
async fn every_guarded_key_of_the_wrong_type_is_named_and_left_alone_guard_09() -> Outcome {
    let (redis, client) = start().await?;
    assert_eq!(client.wrong_keys().await?, []);
    redis.cli(&["SADD", "cogworker:queues", "good", "message"]);
    redis.cli(&["LPUSH", "cogworker:queue:good", "x"]);
    redis.cli(&["SET", "cogworker:queue:message", "x"]);
    redis.cli(&["LPUSH", "cogworker:retry", "x"]);
    redis.cli(&["SET", "cogworker:processes", "x"]);
    redis.cli(&["SADD", "cogworker:inprogress_identities", "h:1:a"]);
    redis.cli(&["SET", "cogworker:inprogress:h:1:a", "x"]);
    redis.cli(&["HSET", "periodic:schedule", "p", "{}"]);
    redis.cli(&["LPUSH", "periodic:running:p", "x"]);
    let wrong = client.wrong_keys().await?;
    let wrong: Vec<String> =
        wrong.iter().map(|it| format!("{} {} {}", it.key, it.found, it.expected)).collect();
    assert_eq!(
        wrong,
        [
            "cogworker:inprogress:h:1:a string list",
            "cogworker:processes string set",
            "cogworker:queue:message string list",
            "cogworker:retry list zset",
            "periodic:running:p list string",
        ]
    );
    assert_eq!(redis.cli(&["EXISTS", "cogworker:queue:message"]), 1);
    Ok(())
}

#[tokio::test]
async fn a_message_to_a_process_tells_whether_it_was_heard_pset_02() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SADD", "cogworker:processes", "h:1:a"]);
    redis.cli(&["HSET", "cogworker:process:h:1:a", "busy", "0"]);
    let process = client.processes().await?.pop().ok_or("no process")?;
    assert!(!process.send(Control::Quiet).await?);
    let mut channel = redis.connect()?;
    channel.command(&["SUBSCRIBE", "cogworker:signal:h:1:a"])?;
    assert!(process.send(Control::Stop).await?);
    assert_eq!(channel.read()?.strings(), ["message", "cogworker:signal:h:1:a", "stop"]);
    process.resume().await?;
    assert_eq!(channel.read()?.strings()[2], "resume");
    Ok(())
}
