//! A service's calls to Redis.

use std::future::Future;
use std::time::Duration;

use cogworker_core::keys::KeySpace;
use cogworker_core::redis::{Redis, RedisError};

use crate::engine::within;

/// A connection on which no call of a service lasts for ever: one that the client library lost would
/// end the service's work without a word.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    redis: Redis,
    /// A call that takes longer is given up.
    stuck_call: Duration,
}

impl Line {
    pub(crate) fn new(redis: Redis, stuck_call: Duration) -> Self {
        Self { redis, stuck_call }
    }

    pub(crate) fn keys(&self) -> &KeySpace {
        self.redis.keys()
    }

    /// Makes a call, which the log names `what` ("polling the schedule") if it gets stuck.
    pub(crate) async fn call<'a, T, F>(
        &'a self,
        what: &str,
        call: impl FnOnce(&'a Redis) -> F,
    ) -> Result<T, RedisError>
    where
        F: Future<Output = Result<T, RedisError>>,
    {
        within(what, self.stuck_call, call(&self.redis), self.redis.reset()).await
    }
}
