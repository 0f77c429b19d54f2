//! Failures that are counted in the step that files them, or later.

use crate::formats::{THROUGHPUT_TTL, epoch_hour};
use crate::redis::{Call, Redis, RedisError, Replies, Script};
use crate::time::EpochSeconds;

static COUNT_FAILURES: Script = Script::new(
    "count_failures",
    concat!(include_str!("../../lua/parts/count_failed.lua"), include_str!("../../lua/count_failures.lua"),),
);

/// How the failures of a step were counted.
#[derive(Debug, Default)]
#[must_use = "what was not counted is to be counted later"]
pub struct FailureCount {
    /// How many were filed and not counted: pass them to [`count_failures`].
    pub missing: u64,
    /// Why; without missing ones, why only the count of the hour lacks them.
    pub error: Option<RedisError>,
}

impl FailureCount {
    pub(super) async fn read(replies: &mut Replies) -> Result<Self, RedisError> {
        let missing = replies.take()?.int()?.max(0) as u64;
        Ok(Self { missing, error: replies.take_error().await? })
    }
}

/// Counts failures that earlier steps filed and could not count.
pub async fn count_failures(redis: &Redis, failures: u64) -> Result<FailureCount, RedisError> {
    let call = Call::new()
        .key(redis.keys().stats_failed())
        .key(redis.keys().throughput(epoch_hour(EpochSeconds::now())))
        .arg(failures)
        .arg(THROUGHPUT_TTL.as_secs());
    FailureCount::read(&mut redis.call(&COUNT_FAILURES, call).await?).await
}
