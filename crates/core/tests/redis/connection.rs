//! The shared connection when replies do not come.

use std::time::Duration;

use cogworker_core::redis::{Call, Redis, RedisError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{TestRedis, TestRedisOptions};

use crate::support::Outcome;

const COMMAND_TIMEOUT: Duration = Duration::from_millis(200);

async fn client_id(redis: &Redis) -> Result<i64, RedisError> {
    redis.command("CLIENT", Call::new().arg("ID")).await?.int()
}

/// The connection's number, as soon as a connection stands.
async fn connected_id(redis: &Redis) -> Result<i64, Box<dyn std::error::Error>> {
    let connected = async {
        loop {
            if let Ok(id) = client_id(redis).await {
                return id;
            }
        }
    };
    Ok(tokio::time::timeout(Duration::from_secs(10), connected).await?)
}

#[tokio::test]
async fn a_connection_is_replaced_though_a_caller_gave_up_during_an_earlier_replacement() -> Outcome {
    let server = TestRedis::start()?;
    let mut config = RedisConfig::new(&server.url())?;
    config.command_timeout = COMMAND_TIMEOUT;
    let redis = Redis::connect(&config).await?;

    // The call is given up at 200 ms, and its caller then waits for the new connection.
    server.pause()?;
    let dropped = tokio::time::timeout(COMMAND_TIMEOUT * 3 / 2, client_id(&redis)).await;
    assert!(dropped.is_err(), "the caller is dropped during the replacement: {dropped:?}");
    server.resume()?;
    let before = connected_id(&redis).await?;

    server.pause()?;
    let unanswered = client_id(&redis).await;
    assert!(matches!(unanswered, Err(RedisError::TimedOut(_))), "{unanswered:?}");
    server.resume()?;
    assert_ne!(connected_id(&redis).await?, before, "the condemned connection is still in use");
    Ok(())
}

#[tokio::test]
async fn a_first_connection_that_fails_says_what_is_wrong_with_the_address() -> Outcome {
    let encrypted = TestRedisOptions::new().tls().start()?;
    let guarded = TestRedisOptions::new().requirepass("secret").start()?;
    let nobody = TestRedis::start()?;
    nobody.stop();
    for (server, reason) in [
        (&encrypted, "; if it speaks TLS, the url has to begin with rediss"),
        (&guarded, "authenticate with redis: NOAUTH "),
        (&nobody, "reach redis: Connection refused"),
    ] {
        let config = RedisConfig::new(&format!("redis://127.0.0.1:{}", server.port()))?;
        let error = Redis::connect(&config).await.map(drop).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|error| error.contains(reason)), "{error:?}");
        let redis = Redis::connect_lazily(&config)?;
        let (told, hears) = tokio::sync::oneshot::channel();
        let mut told = Some(told);
        let hears = tokio::time::timeout(Duration::from_secs(10), async {
            tokio::select! {
                () = redis.connected(|error| { told.take().map(|told| told.send(error.to_string())); }) => None,
                heard = hears => heard.ok(),
            }
        });
        let heard = hears.await?;
        assert!(heard.as_ref().is_some_and(|heard| heard.contains(reason)), "{heard:?}");
    }
    Ok(())
}
