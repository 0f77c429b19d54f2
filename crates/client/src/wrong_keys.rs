//! Keys that hold another type than they should. Workers move them away each minute; this only looks.

use cogworker_core::keys::{Key, KeySpace, KeyType};
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, BATCH_LIMIT};

use crate::Client;

/// A key that holds the wrong type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongKey {
    /// The key.
    pub key: Key,
    /// What it holds, as the command `TYPE` spells it.
    pub found: String,
    /// What it should hold.
    pub expected: KeyType,
}

/// The keys that belong to one name in a registry, with what they must hold.
type KeysOf = fn(&KeySpace, &str) -> Vec<(Key, KeyType)>;

impl Client {
    /// The keys that hold the wrong type, of all those that the workers guard (GUARD-01 to GUARD-05, GUARD-09).
    /// Looks at every listed queue, process and periodic entry, in steps.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn wrong_keys(&self) -> Result<Vec<WrongKey>, RedisError> {
        let keys = self.redis().keys();
        let mut wrong = Vec::new();
        self.check(&keys.guarded(), &mut wrong).await?;
        let registries: [(Key, KeyType, KeysOf); 4] = [
            (keys.queues(), KeyType::Set, |keys, name| vec![(keys.queue(name), KeyType::List)]),
            (keys.processes(), KeyType::Set, process_keys),
            (keys.inprogress_identities(), KeyType::Set, process_keys),
            (keys.periodic_schedule(), KeyType::Hash, |keys, pjid| {
                vec![
                    (keys.periodic_running(pjid), KeyType::String),
                    (keys.periodic_last_slot(pjid), KeyType::String),
                ]
            }),
        ];
        for (registry, kind, keys_of) in registries {
            // One that is itself wrong has nothing to say (GUARD-04).
            if wrong.iter().any(|wrong: &WrongKey| wrong.key == registry) {
                continue;
            }
            let mut cursor = Some(0);
            while let Some(from) = cursor {
                let registry = registry.clone();
                let step =
                    scripts::scan_members(self.redis(), registry, kind, from, BATCH_LIMIT as u64).await?;
                let listed: Vec<_> = step.found.iter().flat_map(|name| keys_of(keys, name)).collect();
                self.check(&listed, &mut wrong).await?;
                cursor = step.next;
            }
        }
        wrong.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        wrong.dedup();
        Ok(wrong)
    }

    async fn check(&self, keys: &[(Key, KeyType)], wrong: &mut Vec<WrongKey>) -> Result<(), RedisError> {
        for some in keys.chunks(BATCH_LIMIT) {
            let names: Vec<Key> = some.iter().map(|(key, _)| key.clone()).collect();
            let types = scripts::list_types(self.redis(), &names).await?;
            for ((key, expected), found) in some.iter().zip(types) {
                if found != "none" && found != expected.name() {
                    wrong.push(WrongKey { key: key.clone(), found, expected: *expected });
                }
            }
        }
        Ok(())
    }
}

fn process_keys(keys: &KeySpace, identity: &str) -> Vec<(Key, KeyType)> {
    vec![
        (keys.inprogress(identity), KeyType::List),
        (keys.process(identity), KeyType::Hash),
        (keys.workers(identity), KeyType::Hash),
    ]
}
