//! Live processes, with what can be known of them from outside.

use std::time::Duration;

use cogworker_core::formats::PRESENCE_TTL;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_LIMIT};

use crate::{Client, Process};

/// A live process, how long ago it was heard of, and how many jobs it runs now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessState {
    /// The process, as its last heartbeat described it.
    pub process: Process,
    /// How long ago that was; `None` when its presence has no end, such as one written by hand.
    pub heard_of: Option<Duration>,
    /// The jobs it runs, as it published them: newer than [`Process::busy`] (WEBW-08).
    pub running: u64,
}

impl Client {
    /// The live processes, by identity; those of one call of 500 in one moment.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn process_states(&self) -> Result<Vec<ProcessState>, RedisError> {
        let identities = self.identities().await?;
        let mut states = Vec::with_capacity(identities.len());
        for some in identities.chunks(BATCH_LIMIT) {
            let records = scripts::list_processes(self.redis(), some).await?;
            for (identity, record) in some.iter().zip(records) {
                // It died, and nobody has taken its name off the list yet.
                if record.info.is_empty() && record.busy.is_empty() && record.quiet.is_empty() {
                    continue;
                }
                let busy = std::str::from_utf8(&record.busy).ok().and_then(|busy| busy.parse().ok());
                states.push(ProcessState {
                    process: Process {
                        redis: self.redis().clone(),
                        identity: identity.clone(),
                        info: serde_json::from_slice(&record.info).unwrap_or_default(),
                        busy: busy.unwrap_or(0),
                        quiet: record.quiet == "true",
                    },
                    heard_of: record.life.map(|life| PRESENCE_TTL.saturating_sub(life)),
                    running: record.running,
                });
            }
        }
        Ok(states)
    }
}
