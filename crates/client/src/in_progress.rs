//! What processes hold, those that have died too.

use bytes::Bytes;
use cogworker_core::page::Page;
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::scripts::{self, BATCH_LIMIT};

use crate::Client;

/// The jobs that one process took off their queues and has not settled yet: running, or about to.
///
/// Those of a process that died stay here until another one puts them back, which takes up to
/// `orphan_threshold` and a minute.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InProgress {
    redis: Redis,
    /// The process.
    pub identity: String,
    /// How many jobs it holds. `None` when its key holds something that is no list.
    pub size: Option<u64>,
    /// False when its presence has lapsed: it died, or has not reached Redis for a minute.
    pub is_alive: bool,
}

impl Client {
    /// Every process that has, or may have, jobs in progress, by name.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn in_progress(&self) -> Result<Vec<InProgress>, RedisError> {
        let registry = self.redis().keys().inprogress_identities();
        let mut identities = scripts::list_members(self.redis(), registry).await?;
        identities.sort_unstable();
        let mut all = Vec::with_capacity(identities.len());
        for some in identities.chunks(BATCH_LIMIT) {
            let counts = scripts::count_inprogress(self.redis(), some).await?;
            all.extend(some.iter().zip(counts).map(|(identity, (size, is_alive))| InProgress {
                redis: self.redis().clone(),
                identity: identity.clone(),
                size,
                is_alive,
            }));
        }
        Ok(all)
    }
}

impl InProgress {
    /// The raw jobs `skip` to `skip + count` (at most 1,000), the oldest first.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn page(&self, skip: u64, count: u64) -> Result<Page<Bytes>, RedisError> {
        let key = self.redis.keys().inprogress(&self.identity);
        scripts::page_list(&self.redis, key, skip, count).await
    }
}
