//! A server and a connection to it.

use std::error::Error;

use cogworker_core::redis::Redis;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::TestRedis;

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) const ME: &str = "host:1:abcdefabcdef";

pub(crate) async fn start() -> Result<(TestRedis, Redis), Box<dyn Error>> {
    let server = TestRedis::start()?;
    let redis = Redis::connect(&RedisConfig::new(&server.url())?).await?;
    Ok((server, redis))
}

/// A list's elements, from the left.
pub(crate) fn list(server: &TestRedis, key: &str) -> Vec<String> {
    server.cli(&["LRANGE", key, "0", "-1"]).strings()
}
