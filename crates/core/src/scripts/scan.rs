//! Going through many keys or names, a bounded step a call.

use super::PAGE_LIMIT;
use crate::keys::{Key, KeyType};
use crate::redis::{Call, Redis, RedisError, Replies, Script};

static SCAN_KEYS: Script = Script::new("scan_keys", include_str!("../../lua/scan_keys.lua"));
static SCAN_MEMBERS: Script = Script::new("scan_members", include_str!("../../lua/scan_members.lua"));

/// One step. A whole walk finds what was there from its begin to its end, perhaps more than
/// once; what came or went meanwhile it may find or miss.
#[derive(Debug)]
pub struct ScanStep {
    /// Keys or names; none is no sign of the end.
    pub found: Vec<String>,
    /// Where to go on; `None` at the end.
    pub next: Option<u64>,
}

impl ScanStep {
    fn read(mut replies: Replies) -> Result<Self, RedisError> {
        let cursor = replies.take()?.text()?;
        let next: u64 = cursor
            .parse()
            .map_err(|_| RedisError::UnexpectedReply { expected: "a cursor", found: cursor.clone() })?;
        Ok(Self { found: replies.take()?.texts()?, next: (next != 0).then_some(next) })
    }
}

/// Looks at about `count` keys, from `cursor` on, and finds those that match `pattern`
/// ([`escape_glob`](crate::keys::escape_glob)). In a cluster it asks the node that holds this
/// installation's keys, and so needs a prefix with a hash tag.
pub async fn scan_keys(
    redis: &Redis,
    pattern: &str,
    cursor: u64,
    count: u64,
) -> Result<ScanStep, RedisError> {
    let call =
        Call::new().key(redis.keys().queues()).arg(cursor).arg(pattern).arg(count.clamp(1, PAGE_LIMIT));
    ScanStep::read(redis.call(&SCAN_KEYS, call).await?)
}

/// Looks at about `count` members of a set or, with [`KeyType::Hash`], fields of a hash, from
/// `cursor` on.
pub async fn scan_members(
    redis: &Redis,
    key: Key,
    kind: KeyType,
    cursor: u64,
    count: u64,
) -> Result<ScanStep, RedisError> {
    let call = Call::new().key(key).arg(kind.name()).arg(cursor).arg(count.clamp(1, PAGE_LIMIT));
    ScanStep::read(redis.call(&SCAN_MEMBERS, call).await?)
}
