//! The failed jobs, grouped: read for all pages together, at most every few seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_client::failures::FailureCensus;
use cogworker_core::redis::RedisError;
use tokio::sync::Mutex;

/// How old a census may be.
const FRESH: Duration = Duration::from_secs(4);

/// The newest census, and the right to make the next one.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Option<(Instant, Arc<FailureCensus>)>>);

impl Failures {
    /// A census that is a few seconds old at most. Whoever asks first makes it, the others wait for that one.
    pub(crate) async fn get(&self, client: &Client) -> Result<Arc<FailureCensus>, RedisError> {
        let mut newest = self.0.lock().await;
        if let Some((at, census)) = newest.as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(census.clone());
        }
        let census = Arc::new(client.failure_census().await?);
        *newest = Some((Instant::now(), census.clone()));
        Ok(census)
    }

    /// After an action: the next page is to show what it did.
    pub(crate) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}
