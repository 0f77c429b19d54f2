//! Moves keys of the wrong type out of the way: such a key, left by a slip or by corruption, would
//! fail every command on it for ever.
//!
//! A pass checks the fixed keys, this process's own, and what the registries list. It is made
//! before the first fetch and every minute, and tells each key that it moves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cogworker_core::keys::{Key, KeySpace, KeyType};
use cogworker_core::redis::{Call, RedisError};
use cogworker_core::scripts::{self, BATCH_LIMIT, PAGE_LIMIT, WrongKey};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::fleet::period_among;
use super::line::Line;
use crate::engine::Gauges;
use crate::outage::Outage;

/// The newest copies of a key that are kept (GUARD-07).
const COPIES_KEPT: usize = 5;
/// A check that Redis did not answer is made again so soon, as jobs may wait for it.
const OUTAGE_PAUSE: Duration = Duration::from_secs(5);
/// The longest that the check at boot holds up the start.
const BOOT_LIMIT: Duration = Duration::from_secs(10);
const PLACE: &str = "checking keys";

#[derive(Clone)]
pub(crate) struct KeyGuard {
    line: Line,
    identity: Arc<str>,
    queues: Arc<[String]>,
    period: Duration,
    gauges: Arc<Gauges>,
    outage: Arc<Outage>,
    /// Moved keys whose older copies are still to be removed.
    unpruned: Arc<Mutex<BTreeSet<Key>>>,
}

/// What the check at boot came to.
pub(crate) struct BootCheck {
    /// A key was moved, perhaps a registry that this process had failed to write itself into.
    pub(crate) moved: bool,
    /// When the next check is due.
    pub(crate) pause: Duration,
}

/// The keys that belong to one name in a registry, with what they must hold.
type KeysOf = fn(&KeySpace, &str) -> Vec<(Key, KeyType)>;

impl KeyGuard {
    pub(crate) fn new(
        line: Line,
        identity: Arc<str>,
        queues: Arc<[String]>,
        period: Duration,
        gauges: Arc<Gauges>,
        outage: Arc<Outage>,
    ) -> Self {
        Self { line, identity, queues, period, gauges, outage, unpruned: Arc::default() }
    }

    /// The check before the first fetch. Redis failing here does not keep the worker from starting.
    pub(crate) async fn at_boot(&self, stop: &CancellationToken) -> BootCheck {
        let checked = tokio::select! {
            biased;
            () = stop.cancelled() => return BootCheck { moved: false, pause: self.period },
            checked = timeout(BOOT_LIMIT, self.check()) => checked,
        };
        let pause = match checked {
            Ok(Ok(moved)) if moved.is_empty() => self.period,
            // Old copies are removed by the service, so that no long search holds up the start.
            Ok(Ok(_)) => Duration::ZERO,
            Ok(Err(failure)) => self.after_outage(&failure),
            Err(_) => {
                warn!("{PLACE} took more than {} s and goes on later", BOOT_LIMIT.as_secs());
                Duration::ZERO
            }
        };
        BootCheck { moved: !self.unpruned().is_empty(), pause }
    }

    /// Checks after `pause`, then again and again.
    pub(crate) async fn run(self, mut pause: Duration, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            // Each step is whole by itself, so a pass may end anywhere.
            pause = tokio::select! {
                () = stop.cancelled() => return,
                pause = self.pass() => pause,
            };
        }
    }

    /// Checks and prunes; how long to sleep after it.
    async fn pass(&self) -> Duration {
        let mut checked = self.check().await.map(drop);
        if checked.is_ok() {
            checked = self.prune_moved().await;
        }
        match checked {
            Ok(()) => {
                self.outage.recovered(PLACE);
                period_among(self.gauges.processes.load(Ordering::Relaxed), self.period)
            }
            Err(failure) => self.after_outage(&failure),
        }
    }

    fn after_outage(&self, failure: &RedisError) -> Duration {
        self.outage.report(PLACE, failure);
        OUTAGE_PAUSE.min(self.period)
    }

    /// Looks at every key once, and tells which were moved.
    ///
    /// # Errors
    /// While Redis is away. Other failures are logged, and concern only their part (GUARD-01).
    pub(crate) async fn check(&self) -> Result<Vec<WrongKey>, RedisError> {
        let keys = self.line.keys();
        let mut wrong = Vec::new();
        self.part(self.check_keys(&keys.guarded(), &mut wrong).await)?;
        let registries: [(Key, KeyType, KeysOf); 4] = [
            (keys.queues(), KeyType::Set, queue_keys),
            (keys.processes(), KeyType::Set, process_keys),
            (keys.inprogress_identities(), KeyType::Set, process_keys),
            (keys.periodic_schedule(), KeyType::Hash, periodic_keys),
        ];
        // One that was itself wrong has nothing to say (GUARD-04).
        let registries: Vec<_> = registries
            .into_iter()
            .filter(|(registry, ..)| wrong.iter().all(|wrong: &WrongKey| wrong.key != *registry))
            .collect();

        let given = self.queues.iter().flat_map(|name| queue_keys(keys, name));
        let own: Vec<_> = given.chain(process_keys(keys, &self.identity)).collect();
        self.part(self.check_keys(&own, &mut wrong).await)?;
        for (registry, kind, keys_of) in registries {
            self.part(self.check_listed(registry, kind, keys_of, &mut wrong).await)?;
        }
        wrong.retain(|wrong| wrong.moved_to.is_ok());
        Ok(wrong)
    }

    /// One part's failure is told and does not stop the others; only an outage does, as they
    /// would all wait for its end.
    fn part(&self, result: Result<(), RedisError>) -> Result<(), RedisError> {
        match result {
            Err(failure) if !failure.is_outage() => {
                self.outage.report(PLACE, &failure);
                Ok(())
            }
            result => result,
        }
    }

    /// Checks the keys of every name that a registry lists, a page at a time (GUARD-02, GUARD-03,
    /// GUARD-05).
    async fn check_listed(
        &self,
        registry: Key,
        kind: KeyType,
        keys_of: KeysOf,
        wrong: &mut Vec<WrongKey>,
    ) -> Result<(), RedisError> {
        let mut cursor = Some(0);
        while let Some(from) = cursor {
            let (registry, most) = (&registry, BATCH_LIMIT as u64);
            let step = self
                .line
                .call(PLACE, |redis| scripts::scan_members(redis, registry.clone(), kind, from, most));
            let step = step.await?;
            let keys: Vec<_> = step.found.iter().flat_map(|name| keys_of(self.line.keys(), name)).collect();
            self.check_keys(&keys, wrong).await?;
            cursor = step.next;
        }
        Ok(())
    }

    async fn check_keys(&self, keys: &[(Key, KeyType)], wrong: &mut Vec<WrongKey>) -> Result<(), RedisError> {
        for page in keys.chunks(BATCH_LIMIT) {
            for found in self.line.call(PLACE, |redis| scripts::quarantine_keys(redis, page)).await? {
                self.tell(&found);
                wrong.push(found);
            }
        }
        Ok(())
    }

    /// LOG-07.
    fn tell(&self, wrong: &WrongKey) {
        let WrongKey { key, found, expected, moved_to } = wrong;
        match moved_to {
            Ok(copy) => {
                self.unpruned().insert(key.clone());
                error!(key, found, %expected, moved_to = copy, "a key held the wrong type and was moved away");
            }
            Err(failure) => error!(
                key,
                found, %expected, "a key holds the wrong type and could not be moved away: failed to {failure}"
            ),
        }
    }

    async fn prune_moved(&self) -> Result<(), RedisError> {
        let moved = std::mem::take(&mut *self.unpruned());
        if moved.is_empty() {
            return Ok(());
        }
        let pruned = self.prune(&moved).await;
        // An outage ends and the next pass tries again; a refusal lasts, and is told once.
        if pruned.as_ref().is_err_and(RedisError::is_outage) {
            self.unpruned().extend(moved);
        }
        self.part(pruned)
    }

    /// Removes all but the newest copies of the keys that were moved (GUARD-07, GUARD-08). Goes
    /// through the whole keyspace, so only after something was moved.
    async fn prune(&self, moved: &BTreeSet<Key>) -> Result<(), RedisError> {
        let keys = self.line.keys();
        let mut copies: BTreeMap<Key, BTreeSet<(u64, Key)>> = BTreeMap::new();
        let (pattern, mut cursor) = (keys.quarantine_pattern(), Some(0));
        while let Some(from) = cursor {
            let step = self.line.call(PLACE, |redis| scripts::scan_keys(redis, &pattern, from, PAGE_LIMIT));
            let step = step.await?;
            for copy in step.found {
                if let Some(name) = keys.parse_quarantine(&copy).filter(|name| moved.contains(&name.key)) {
                    copies.entry(name.key).or_default().insert((name.epoch_ms, copy));
                }
            }
            cursor = step.next;
        }
        let surplus: Vec<Key> = copies.into_values().flat_map(oldest_copies).collect();
        for page in surplus.chunks(BATCH_LIMIT) {
            let call = page.iter().fold(Call::new(), |call, copy| call.key(copy));
            self.line.call(PLACE, |redis| redis.command("UNLINK", call)).await?;
        }
        Ok(())
    }

    fn unpruned(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.unpruned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All but the newest, of the copies of one key with their times.
fn oldest_copies(copies: BTreeSet<(u64, Key)>) -> impl Iterator<Item = Key> {
    copies.into_iter().rev().skip(COPIES_KEPT).map(|(_, copy)| copy)
}

fn queue_keys(keys: &KeySpace, name: &str) -> Vec<(Key, KeyType)> {
    vec![(keys.queue(name), KeyType::List)]
}

fn process_keys(keys: &KeySpace, identity: &str) -> Vec<(Key, KeyType)> {
    vec![
        (keys.inprogress(identity), KeyType::List),
        (keys.process(identity), KeyType::Hash),
        (keys.workers(identity), KeyType::Hash),
    ]
}

fn periodic_keys(keys: &KeySpace, pjid: &str) -> Vec<(Key, KeyType)> {
    vec![(keys.periodic_running(pjid), KeyType::String), (keys.periodic_last_slot(pjid), KeyType::String)]
}

#[cfg(test)]
mod tests {
    use cogworker_core::redis::Redis;
    use cogworker_core::redis_config::RedisConfig;

    use super::*;

    #[tokio::test]
    async fn a_redis_that_is_away_delays_the_start_by_one_call_and_the_next_check_is_soon() {
        let redis = cogworker_testing::TestRedis::start().unwrap();
        let config = RedisConfig::new(&redis.url()).unwrap().with_command_timeout(Duration::from_millis(50));
        redis.stop();
        let line = Line::new(Redis::connect_lazily(&config).unwrap(), Duration::from_secs(5));
        let period = Duration::from_secs(60);
        let guard =
            KeyGuard::new(line, "me".into(), Arc::new(["q".into()]), period, Arc::default(), Arc::default());
        let going = CancellationToken::new();
        let check = timeout(Duration::from_secs(5), guard.at_boot(&going)).await.unwrap();
        assert_eq!((check.moved, check.pause), (false, OUTAGE_PAUSE));
        going.cancel();
        assert!(!guard.at_boot(&going).await.moved, "a stop is heard at once");
    }
}
