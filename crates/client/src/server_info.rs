//! What the Redis server says of itself, as far as it matters to the jobs in it.

use std::collections::BTreeMap;
use std::time::Duration;

use cogworker_core::redis::{Call, RedisError, ServerVersion};
use cogworker_core::time::EpochSeconds;

use crate::Client;

/// The server's version, memory, persistence and clock. What it does not tell is `None`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Its version as it counts for compatibility; Valkey states that of the Redis it is compatible with.
    pub version: Option<ServerVersion>,
    /// Its name and full version: `Redis 7.0.15`, `Valkey 8.0.1`.
    pub product: String,
    /// `master` or `slave`.
    pub role: Option<String>,
    /// Bytes in use.
    pub used_memory: Option<u64>,
    /// The most bytes it may use; `None` without a limit.
    pub max_memory: Option<u64>,
    /// What it throws away at that limit; only `noeviction` keeps jobs safe.
    pub eviction_policy: Option<String>,
    /// Whether each write goes to a file.
    pub append_only: Option<bool>,
    /// Whether the last snapshot, and the last write to that file, succeeded.
    pub last_save_ok: Option<bool>,
    /// When the last snapshot was made, by its clock; without any, when it started.
    pub last_save: Option<EpochSeconds>,
    /// How many changes no snapshot has.
    pub unsaved_changes: Option<u64>,
    /// How far its clock is ahead of this machine's, in seconds; negative when it is behind.
    pub clock_ahead: f64,
    /// How long it took to answer.
    pub round_trip: Duration,
}

impl Client {
    /// Asks the server (`INFO` and `TIME`).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn server_info(&self) -> Result<ServerInfo, RedisError> {
        let version = self.redis().server_version().await?;
        let info = self.redis_info().await?;
        let begun = EpochSeconds::now();
        let time = self.redis().command("TIME", Call::new()).await?.array()?;
        let round_trip = EpochSeconds::now().since(begun);
        let [seconds, micros] = &time[..] else {
            return Err(RedisError::UnexpectedReply {
                expected: "seconds and microseconds",
                found: "else".into(),
            });
        };
        let there = seconds.int()? as f64 + micros.int()? as f64 / 1e6;
        // It looked at its clock somewhere on the way.
        let clock_ahead = there - (begun.as_f64() + round_trip.as_secs_f64() / 2.0);
        Ok(ServerInfo::read(&info, version, clock_ahead, round_trip))
    }
}

impl ServerInfo {
    fn read(
        info: &BTreeMap<String, String>,
        version: Option<ServerVersion>,
        clock_ahead: f64,
        round_trip: Duration,
    ) -> Self {
        let text = |name: &str| info.get(name).filter(|text| !text.is_empty()).cloned();
        let number = |name: &str| info.get(name)?.parse::<u64>().ok();
        let is = |name: &str, wanted: &str| info.get(name).map(|text| text == wanted);
        let product = match (text("valkey_version"), text("redis_version")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, Some(version)) => format!("Redis {version}"),
            (None, None) => "a server of unknown version".to_owned(),
        };
        let saves = [is("rdb_last_bgsave_status", "ok"), is("aof_last_write_status", "ok")];
        Self {
            version,
            product,
            role: text("role"),
            used_memory: number("used_memory"),
            max_memory: number("maxmemory").filter(|limit| *limit > 0),
            eviction_policy: text("maxmemory_policy"),
            append_only: is("aof_enabled", "1"),
            last_save_ok: saves.into_iter().flatten().reduce(|one, other| one && other),
            last_save: number("rdb_last_save_time").map(|at| EpochSeconds::new(at as f64)),
            unsaved_changes: number("rdb_changes_since_last_save"),
            clock_ahead,
            round_trip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(info: &[(&str, &str)]) -> ServerInfo {
        let info = info.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ServerInfo::read(&info, None, 0.0, Duration::ZERO)
    }

    #[test]
    fn what_a_server_does_not_tell_is_not_guessed() {
        let none = read(&[]);
        assert_eq!(
            (none.role, none.max_memory, none.append_only, none.last_save_ok),
            (None, None, None, None)
        );
        assert_eq!(none.product, "a server of unknown version");
    }

    #[test]
    fn no_limit_is_written_as_zero_and_one_failed_save_is_enough() {
        let info = read(&[
            ("redis_version", "7.2.4"),
            ("valkey_version", "8.0.1"),
            ("maxmemory", "0"),
            ("rdb_last_bgsave_status", "ok"),
            ("aof_last_write_status", "err"),
        ]);
        assert_eq!((info.product.as_str(), info.max_memory), ("Valkey 8.0.1", None));
        assert_eq!(info.last_save_ok, Some(false));
    }
}
