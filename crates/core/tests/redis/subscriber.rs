//! Listening on channels while the connection breaks and the server refuses.

use std::time::Duration;

use cogworker_core::redis::{Heard, Subscriber};
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{FaultProxy, TestRedis, TestRedisOptions};
use tokio::time::timeout;

use crate::support::Outcome;

const SOON: Duration = Duration::from_secs(10);

/// Says something until it is heard.
async fn hears(subscriber: &mut Subscriber, server: &TestRedis) -> Outcome {
    let heard = async {
        loop {
            server.cli(&["PUBLISH", "channel", "text"]);
            match timeout(Duration::from_millis(100), subscriber.next()).await {
                Ok(Some(Heard::Message(channel, text))) => return Ok((channel, text)),
                Ok(None) => return Err("closed"),
                _ => {}
            }
        }
    };
    assert_eq!(timeout(SOON, heard).await??, ("channel".to_owned(), "text".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_subscription_is_told() -> Outcome {
    // The connection stands all the while.
    let options = TestRedisOptions::new().user("listener", "secret", "~* &* +@all -subscribe");
    let server = options.start()?;
    let url = server.url_of("listener").ok_or("the user is there")?;
    let mut subscriber = Subscriber::connect_lazily(&RedisConfig::new(&url)?, vec!["channel".into()])?;
    // On a busy machine an echo may come too late before that.
    let refused = async {
        while let Some(heard) = subscriber.next().await {
            match heard {
                Heard::Failed(error) if error.is_outage() => {}
                Heard::Failed(error) => return Ok(error),
                heard => return Err(format!("{heard:?}")),
            }
        }
        Err("closed".to_owned())
    };
    let error = timeout(SOON, refused).await??;
    assert!(error.to_string().contains("NOPERM") || error.to_string().contains("permission"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_outlives_cut_connections_and_a_busy_server() -> Outcome {
    const SPIN: &str = "local function ms() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end \
                        local over = ms() + 1500 while ms() < over do end return 1";
    let server = TestRedisOptions::new().arg("--busy-reply-threshold").arg("50").start()?;
    let proxy = FaultProxy::start(&server)?;
    let config = RedisConfig::new(&proxy.url())?;
    let mut subscriber = Subscriber::connect_lazily(&config, vec!["channel".into()])?;
    assert!(matches!(timeout(SOON, subscriber.next()).await?, Some(Heard::Subscribed)));
    hears(&mut subscriber, &server).await?;
    proxy.cut();
    hears(&mut subscriber, &server).await?;

    std::thread::scope(|scope| {
        let busy = scope.spawn(|| server.cli(&["EVAL", SPIN, "0"]));
        let is_busy = || server.cli(&["GET", "x"]).is_error();
        assert!(cogworker_testing::wait_until(SOON, is_busy));
        proxy.cut();
        assert!(busy.join().is_ok());
    });
    hears(&mut subscriber, &server).await?;
    // Each reconnect is told, so that what was missed can be made up for.
    proxy.cut();
    let told = async { while !matches!(subscriber.next().await, Some(Heard::Subscribed)) {} };
    timeout(SOON, told).await?;
    Ok(())
}
