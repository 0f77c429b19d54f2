//! A server and a client of it.

use std::error::Error;

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::TestRedis;

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) async fn start() -> Result<(TestRedis, Client), Box<dyn Error>> {
    let redis = TestRedis::start()?;
    let client = Client::connect(&RedisConfig::new(&redis.url())?).await?;
    Ok((redis, client))
}

/// The jobs on a queue; the one that was pushed last comes first.
pub(crate) fn queue(redis: &TestRedis, name: &str) -> Vec<String> {
    redis.cli(&["LRANGE", &format!("cogworker:queue:{name}"), "0", "-1"]).strings()
}
