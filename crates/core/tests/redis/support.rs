//! A server and a connection to it.

use std::collections::BTreeSet;
use std::error::Error;

use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts;
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

/// Whether `key` got `ttl` seconds at most ten seconds ago.
pub(crate) fn has_ttl(server: &TestRedis, key: &str, ttl: i64) -> bool {
    server.cli(&["TTL", key]).as_int().is_some_and(|left| (ttl - 10..=ttl).contains(&left))
}

/// Every key that matches, however many steps it takes.
pub(crate) async fn walk_keys(
    redis: &Redis,
    pattern: &str,
    count: u64,
) -> Result<BTreeSet<String>, RedisError> {
    let (mut found, mut cursor) = (BTreeSet::new(), Some(0));
    while let Some(from) = cursor {
        let step = scripts::scan_keys(redis, pattern, from, count).await?;
        found.extend(step.found);
        cursor = step.next;
    }
    Ok(found)
}
