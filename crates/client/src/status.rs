//! What a job is doing: reading its status, waiting for its end.

use std::time::Duration;

use cogworker_core::formats::{JobState, Status};
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;
use tokio::time::{Instant, sleep};

use crate::Client;

/// Pauses between two looks, from short, for jobs of a moment, to long, so that a waiter costs Redis at
/// most a command a second.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a wait for a job's end came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Wait {
    /// The job succeeded.
    Complete(Status),
    /// The job failed for good.
    Failed(Status),
    /// The time is up, and the job has not ended.
    Unfinished(Status),
    /// There is no status: none showed up in the time, or the one that was there is gone, by its
    /// expiry or because somebody deleted it.
    NoStatus,
}

impl Client {
    /// The client, which from now on writes the status `queued` of each job that it pushes, in the step that
    /// pushes it, and keeps it for `expiration` from then on. Workers that have statuses on renew that at
    /// each write.
    #[must_use]
    pub fn with_status(mut self, expiration: Duration) -> Self {
        self.settings_mut().status_ttl = Some(expiration);
        self
    }

    /// A job's status; `None` when there is none, or no longer.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn status(&self, jid: impl AsRef<str>) -> Result<Option<Status>, RedisError> {
        let key = self.redis().keys().status(jid.as_ref());
        let mut hashes = scripts::list_hashes(self.redis(), vec![key]).await?;
        Ok(hashes.pop().and_then(Status::from_fields))
    }

    /// The statuses of several jobs (at most 500, the others count as without), in their order.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn statuses(&self, jids: &[impl AsRef<str>]) -> Result<Vec<Option<Status>>, RedisError> {
        let some = &jids[..jids.len().min(scripts::BATCH_LIMIT)];
        let keys = some.iter().map(|jid| self.redis().keys().status(jid.as_ref())).collect();
        let mut statuses: Vec<_> =
            scripts::list_hashes(self.redis(), keys).await?.into_iter().map(Status::from_fields).collect();
        statuses.resize_with(jids.len(), || None);
        Ok(statuses)
    }

    /// Waits until the job has succeeded or failed for good, at most for `timeout`. A job whose status is not
    /// there yet is waited for too. Looks again and again, with pauses that grow to a second; so the end
    /// is seen up to a second late.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use cogworker_client::{Client, Wait};
    /// use cogworker_core::new_job::NewJob;
    ///
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = client.with_status(Duration::from_secs(1800));
    /// if let Some(jid) = client.push(NewJob::new("ImportJob")).await? {
    ///     match client.wait(&jid, Duration::from_secs(60)).await? {
    ///         Wait::Complete(_) => println!("done"),
    ///         Wait::Failed(status) => println!("failed: {:?}", status.error_message),
    ///         other => println!("not yet: {other:?}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn wait(&self, jid: impl AsRef<str>, timeout: Duration) -> Result<Wait, RedisError> {
        let begin = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut was_there = false;
        loop {
            let left = timeout.saturating_sub(begin.elapsed());
            match self.status(jid.as_ref()).await? {
                Some(status) if status.state == JobState::Complete => return Ok(Wait::Complete(status)),
                Some(status) if status.state == JobState::Failed => return Ok(Wait::Failed(status)),
                Some(status) if left.is_zero() => return Ok(Wait::Unfinished(status)),
                Some(_) => was_there = true,
                None if was_there || left.is_zero() => return Ok(Wait::NoStatus),
                None => {}
            }
            sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }
}
