//! Whether Redis answers.

use std::time::{Duration, Instant};

use cogworker_core::redis::{Call, RedisError};

use crate::Client;

impl Client {
    /// Asks Redis for nothing but an answer; how long that took.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn ping(&self) -> Result<Duration, RedisError> {
        let begun = Instant::now();
        self.redis().command("PING", Call::new()).await?;
        Ok(begun.elapsed())
    }
}
