//! The failed jobs, grouped: read for all pages together, at most every few seconds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_client::failures::FailureCensus;
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;
use tokio::time::timeout;

/// So old a census is as good as a new one.
const FRESH: Duration = Duration::from_secs(4);
/// An older one is shown while the next one is made, so that no page waits for it.
const USABLE: Duration = Duration::from_secs(30);

/// Whatever else a page shows does not wait longer for it.
const PATIENCE: Duration = Duration::from_millis(30);

/// The newest census, and the right to make the next one. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Failures {
    newest: Arc<Mutex<Newest>>,
    /// Held by whoever makes the next one.
    making: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Newest {
    census: Option<(Instant, Arc<FailureCensus>)>,
    /// When it was begun.
    began_at: Option<EpochSeconds>,
    /// How often it was forgotten: what began before that is not kept.
    forgotten: u64,
}

impl Failures {
    /// A census that is a few seconds old, or, where none was asked for lately, a new one.
    pub(crate) async fn get(&self, client: &Client) -> Result<Arc<FailureCensus>, RedisError> {
        match self.known() {
            Some((age, census)) if age < FRESH => Ok(census),
            Some((age, census)) if age < USABLE => {
                let (failures, client) = (self.clone(), client.clone());
                tokio::spawn(async move {
                    // Somebody else makes it already.
                    let Ok(_making) = failures.making.clone().try_lock_owned() else { return };
                    // An outage is told by the page that reads next.
                    let _ = failures.make(&client).await;
                });
                Ok(census)
            }
            _ => {
                let _making = self.making.lock().await;
                // It may have been made while this one waited.
                match self.known() {
                    Some((age, census)) if age < FRESH => Ok(census),
                    _ => self.make(client).await,
                }
            }
        }
    }

    /// As [`get`](Self::get), for what is shown beside other things: `None` where that takes longer than they can wait. It
    /// is made all the same, and known soon.
    pub(crate) async fn soon(&self, client: &Client) -> Option<Arc<FailureCensus>> {
        if let Some((_, census)) = self.known().filter(|(age, _)| *age < FRESH) {
            return Some(census);
        }
        let (failures, client) = (self.clone(), client.clone());
        let making = tokio::spawn(async move { failures.get(&client).await });
        // A damaged set breaks its own tab, not every page.
        timeout(PATIENCE, making).await.ok()?.ok()?.ok()
    }

    /// When a census was begun: later jobs may not be in it.
    pub(crate) fn began_at(&self, census: &Arc<FailureCensus>) -> EpochSeconds {
        let newest = self.newest();
        let is_it = newest.census.as_ref().is_some_and(|(_, newest)| Arc::ptr_eq(newest, census));
        match newest.began_at.filter(|_| is_it) {
            Some(began_at) => began_at,
            // Another one came meanwhile. None is shown that is older.
            None => EpochSeconds::new(EpochSeconds::now().as_f64() - 2.0 * USABLE.as_secs_f64()),
        }
    }

    /// After an action: the next page is to show what it did.
    pub(crate) fn forget(&self) {
        let mut newest = self.newest();
        newest.census = None;
        newest.forgotten += 1;
    }

    async fn make(&self, client: &Client) -> Result<Arc<FailureCensus>, RedisError> {
        let forgotten = self.newest().forgotten;
        let began_at = EpochSeconds::now();
        let census = Arc::new(client.failure_census().await?);
        let mut newest = self.newest();
        if newest.forgotten == forgotten {
            newest.census = Some((Instant::now(), census.clone()));
            newest.began_at = Some(began_at);
        }
        Ok(census)
    }

    fn known(&self) -> Option<(Duration, Arc<FailureCensus>)> {
        let newest = self.newest();
        newest.census.as_ref().map(|(at, census)| (at.elapsed(), census.clone()))
    }

    fn newest(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
