//! What was done when, and how often a job failed.

use std::collections::BTreeMap;

use cogworker_core::formats::{ATTEMPTS_KEPT, AttemptRecord, epoch_hour};
use cogworker_core::redis::{Call, RedisError};
use cogworker_core::scripts;
use cogworker_core::time::EpochSeconds;

use crate::Client;

/// Runs in one hour.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HourCount {
    /// When the hour began.
    pub begins: EpochSeconds,
    /// Successful runs.
    pub processed: u64,
    /// Failed runs.
    pub failed: u64,
}

impl Client {
    /// The runs of the last `hours` (at most 24, the current one included), oldest first. An hour
    /// without any is a zero, not a gap (CNT-01, CNT-02).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn throughput(&self, hours: u64) -> Result<Vec<HourCount>, RedisError> {
        let current = epoch_hour(EpochSeconds::now());
        let hours: Vec<u64> = (0..hours.clamp(1, 24)).rev().map(|ago| current.saturating_sub(ago)).collect();
        let keys = hours.iter().map(|hour| self.redis().keys().throughput(*hour)).collect();
        let counts = scripts::list_hashes(self.redis(), keys).await?;
        Ok(hours
            .into_iter()
            .zip(counts)
            .map(|(hour, fields)| {
                let count = |name: &str| {
                    let value = fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
                    value.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok()).unwrap_or(0)
                };
                HourCount {
                    begins: EpochSeconds::new(hour as f64 * 3600.0),
                    processed: count("processed"),
                    failed: count("failed"),
                }
            })
            .collect())
    }

    /// A job's failed attempts, oldest first, at most the last 25; empty for an unknown job
    /// (CNT-04 to CNT-06). Records that cannot be read are left out.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn attempts(&self, jid: impl AsRef<str>) -> Result<Vec<AttemptRecord>, RedisError> {
        let key = self.redis().keys().job_attempts(jid.as_ref());
        let newest_first = scripts::page_list(self.redis(), key, 0, ATTEMPTS_KEPT).await?;
        let records = newest_first.entries.iter().rev();
        Ok(records.filter_map(|record| serde_json::from_slice(record).ok()).collect())
    }

    /// Forgets a job's failed attempts.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn clear_attempts(&self, jid: impl AsRef<str>) -> Result<(), RedisError> {
        let call = Call::new().key(self.redis().keys().job_attempts(jid.as_ref()));
        self.redis().command("UNLINK", call).await.map(|_| ())
    }

    /// What the server says of itself (`INFO`), field by field (CNT-09).
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn redis_info(&self) -> Result<BTreeMap<String, String>, RedisError> {
        let text = self.redis().command("INFO", Call::new()).await?.text()?;
        let fields =
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
        Ok(fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }
}
