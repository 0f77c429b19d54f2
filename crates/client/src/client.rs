//! The client's handle.

use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::redis_config::RedisConfig;

use crate::job_set::{JobSet, SetKind};
use crate::queue::Queue;

/// Pushes jobs and looks after them. Cheap to clone: clones share one connection.
#[derive(Debug, Clone)]
pub struct Client {
    redis: Redis,
    /// False when the connection is someone else's.
    owns_connection: bool,
}

impl Client {
    /// Connects and waits for the connection.
    ///
    /// # Errors
    /// When Redis cannot be reached within the connect timeout, or refuses the credentials.
    pub async fn connect(config: &RedisConfig) -> Result<Self, RedisError> {
        Ok(Self { redis: Redis::connect(config).await?, owns_connection: true })
    }

    /// Returns at once and connects in the background: calls wait for the connection, each at
    /// most the command timeout. For a web app that should start while Redis is away.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub fn connect_lazily(config: &RedisConfig) -> Result<Self, RedisError> {
        Ok(Self { redis: Redis::connect_lazily(config)?, owns_connection: true })
    }

    /// A client on a connection that is there already, and stays whoever closes the client.
    pub fn from_redis(redis: Redis) -> Self {
        Self { redis, owns_connection: false }
    }

    /// The connection.
    pub fn redis(&self) -> &Redis {
        &self.redis
    }

    /// The queue `name`, whether it exists yet or not.
    pub fn queue(&self, name: &str) -> Queue {
        Queue::new(self.redis.clone(), name)
    }

    /// Jobs that are due later.
    pub fn schedule(&self) -> JobSet {
        JobSet::new(self.redis.clone(), SetKind::Schedule)
    }

    /// Failed jobs that will be tried again.
    pub fn retries(&self) -> JobSet {
        JobSet::new(self.redis.clone(), SetKind::Retry)
    }

    /// Jobs that failed for good.
    pub fn dead(&self) -> JobSet {
        JobSet::new(self.redis.clone(), SetKind::Dead)
    }

    /// Closes the connection of this client and all its clones. Does nothing for a client made
    /// by [`from_redis`](Self::from_redis), such as the one that a job's context gives.
    pub async fn close(&self) {
        if self.owns_connection {
            self.redis.close().await;
        }
    }
}
