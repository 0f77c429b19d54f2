//! Live processes and what they run.

use bytes::Bytes;
use cogworker_core::formats::{ProcessInfo, Work};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts;

use crate::{Client, Control};

/// A worker process, as its last heartbeat described it (PSET-01).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Process {
    pub(crate) redis: Redis,
    /// `<hostname>:<pid>:<12 hex>`.
    pub identity: String,
    /// What it says of itself.
    pub info: ProcessInfo,
    /// Jobs it was running.
    pub busy: u64,
    /// True when it takes no new jobs.
    pub quiet: bool,
}

/// A job that is running (QAPI-04).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunningJob {
    /// The process.
    pub identity: String,
    /// The slot in it, 12 hex characters.
    pub slot: String,
    /// The job and since when it runs.
    pub work: Work,
}

impl Client {
    /// The live processes, by identity.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn processes(&self) -> Result<Vec<Process>, RedisError> {
        let identities = self.identities().await?;
        let keys = identities.iter().map(|identity| self.redis().keys().process(identity)).collect();
        let hashes = scripts::list_hashes(self.redis(), keys).await?;
        let processes = identities.into_iter().zip(hashes).filter(|(_, fields)| !fields.is_empty());
        Ok(processes
            .map(|(identity, fields)| {
                let field = |name: &str| {
                    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())
                };
                let text = |value: Bytes| String::from_utf8_lossy(&value).into_owned();
                Process {
                    redis: self.redis().clone(),
                    info: field("info")
                        .and_then(|info| serde_json::from_slice(&info).ok())
                        .unwrap_or_default(),
                    busy: field("busy").and_then(|busy| text(busy).parse().ok()).unwrap_or(0),
                    quiet: field("quiet").is_some_and(|quiet| quiet == "true"),
                    identity,
                }
            })
            .collect())
    }

    /// The jobs that run now, in all processes. Jobs shorter than a fraction of a second never
    /// show.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn running_jobs(&self) -> Result<Vec<RunningJob>, RedisError> {
        let identities = self.identities().await?;
        let keys = identities.iter().map(|identity| self.redis().keys().workers(identity)).collect();
        let hashes = scripts::list_hashes(self.redis(), keys).await?;
        let mut running = Vec::new();
        for (identity, slots) in identities.iter().zip(hashes) {
            for (slot, value) in slots {
                if let Ok(work) = serde_json::from_slice(&value) {
                    running.push(RunningJob { identity: identity.clone(), slot, work });
                }
            }
        }
        Ok(running)
    }

    pub(crate) async fn identities(&self) -> Result<Vec<String>, RedisError> {
        let mut identities = scripts::list_members(self.redis(), self.redis().keys().processes()).await?;
        identities.sort_unstable();
        Ok(identities)
    }
}

impl Process {
    /// Asks it to take no further jobs (PSET-02). Lost if it does not listen just now.
    ///
    /// # Errors
    /// When Redis does not take the message.
    pub async fn quiet(&self) -> Result<(), RedisError> {
        self.send(Control::Quiet).await.map(drop)
    }

    /// Asks it to take jobs again.
    ///
    /// # Errors
    /// When Redis does not take the message.
    pub async fn resume(&self) -> Result<(), RedisError> {
        self.send(Control::Resume).await.map(drop)
    }

    /// Asks it to finish its jobs and exit.
    ///
    /// # Errors
    /// When Redis does not take the message.
    pub async fn stop(&self) -> Result<(), RedisError> {
        self.send(Control::Stop).await.map(drop)
    }
}
