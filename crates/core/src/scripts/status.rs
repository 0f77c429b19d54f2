//! A job's status, as other processes can read it.

use std::time::Duration;

use crate::jid::Jid;
use crate::redis::{Call, Redis, RedisError, Script};
use crate::time::{EpochSeconds, ttl_seconds};

static WRITE_STATUS: Script = Script::new("write_status", include_str!("../../lua/write_status.lua"));

/// Writes fields of a job's status and renews its `ttl` (STAT-01, STAT-05). `update_time` is
/// written with them.
///
/// # Errors
/// When Redis does not take them.
pub async fn write_status(
    redis: &Redis,
    jid: &Jid,
    ttl: Duration,
    fields: &[(&str, &str)],
) -> Result<(), RedisError> {
    let mut call = Call::new()
        .key(redis.keys().status(jid.as_str()))
        .arg(ttl_seconds(ttl))
        .arg("update_time")
        .arg(EpochSeconds::now().to_string());
    for (field, value) in fields {
        call.push(*field);
        call.push(*value);
    }
    redis.call(&WRITE_STATUS, call).await.map(|_| ())
}
