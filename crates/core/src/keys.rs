//! Every Redis key Cogworker uses, spelled once.
//!
//! The names are the Ruby gem's, so both can share one Redis. A prefix (for example
//! `{cogworker}`) goes before each of them, which puts all keys of an installation into one
//! Redis Cluster slot. No other file spells a key.

use std::fmt;
use std::sync::Arc;

/// A key as Redis sees it.
pub type Key = String;

/// Spells the keys of one installation.
///
/// ```
/// use cogworker_core::keys::KeySpace;
///
/// assert_eq!(KeySpace::default().queue("low"), "cogworker:queue:low");
/// assert_eq!(KeySpace::with_prefix("{cog}").queue("low"), "{cog}cogworker:queue:low");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeySpace {
    prefix: Arc<str>,
}

impl fmt::Debug for KeySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeySpace").field(&&*self.prefix).finish()
    }
}

/// Defines one method for each key without a variable part.
macro_rules! fixed_keys {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub fn $name(&self) -> Key {
            self.spell($text, &[])
        })*
    };
}

impl KeySpace {
    /// The gem's key names with `prefix` before each of them.
    pub fn with_prefix(prefix: &str) -> Self {
        Self { prefix: prefix.into() }
    }

    /// What stands before each key; empty by default.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn spell(&self, head: &str, parts: &[&str]) -> Key {
        let length = self.prefix.len() + head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        let mut key = String::with_capacity(length);
        key.push_str(&self.prefix);
        key.push_str(head);
        for part in parts {
            key.push_str(part);
        }
        key
    }

    fixed_keys! {
        /// SET of every queue name ever pushed to or read.
        queues = "cogworker:queues";
        /// SET of the paused queues' names.
        paused_queues = "cogworker:paused_queues";
        /// ZSET of queue names, scored by when a live process last said that it reads them.
        live_queues = "cogworker:live_queues";
        /// ZSET of jobs that are due later, scored by due time.
        schedule = "cogworker:schedule";
        /// ZSET of failed jobs, scored by their next attempt.
        retry = "cogworker:retry";
        /// ZSET of jobs that failed for good, scored by time of death.
        dead = "cogworker:dead";
        /// SET of identities that have, or may have, an in-progress list.
        inprogress_identities = "cogworker:inprogress_identities";
        /// HASH identity → server time of its last heartbeat.
        last_beat = "cogworker:last_beat";
        /// LIST of jobs over `max_orphanings`, waiting to be filed in dead.
        repeat_orphans = "cogworker:repeat_orphans";
        /// LIST of outcomes that a stopping process could not file.
        unsettled = "cogworker:unsettled";
        /// LIST of unsettled records that cannot be used.
        quarantined_unsettled_records = "cogworker:quarantine:cogworker:unsettled:records";
        /// SET of process identities.
        processes = "cogworker:processes";
        /// STRING counter of successful runs.
        stats_processed = "cogworker:stats:processed";
        /// STRING counter of failed runs.
        stats_failed = "cogworker:stats:failed";
        /// HASH of the published periodic entries.
        periodic_schedule = "periodic:schedule";
        /// SET of the periodic ids that are switched off.
        periodic_disabled = "periodic:disabled";
        /// Pub/sub channel: something became due earlier than the pollers may know.
        wake_channel = "cogworker:wake";
    }

    /// LIST of the jobs waiting on the queue `name`.
    pub fn queue(&self, name: &str) -> Key {
        self.spell("cogworker:queue:", &[name])
    }

    /// LIST of the jobs that the process `identity` holds.
    pub fn inprogress(&self, identity: &str) -> Key {
        self.spell("cogworker:inprogress:", &[identity])
    }

    /// STRING: how often the job was recovered from a dead process.
    pub fn orphanings(&self, jid: &str) -> Key {
        self.spell("cogworker:orphanings:", &[jid])
    }

    /// HASH that a live process rewrites at each heartbeat.
    pub fn process(&self, identity: &str) -> Key {
        self.spell("cogworker:process:", &[identity])
    }

    /// HASH slot → the job running in it.
    pub fn workers(&self, identity: &str) -> Key {
        self.spell("cogworker:workers:", &[identity])
    }

    /// Pub/sub channel on which a process takes `quiet`, `resume` and `stop`.
    pub fn signal_channel(&self, identity: &str) -> Key {
        self.spell("cogworker:signal:", &[identity])
    }

    /// HASH of the processed and failed counts in one hour (epoch seconds / 3600).
    pub fn throughput(&self, epoch_hour: u64) -> Key {
        self.spell("cogworker:throughput:", &[&epoch_hour.to_string()])
    }

    /// LIST of the job's failed attempts, oldest first.
    pub fn job_attempts(&self, jid: &str) -> Key {
        self.spell("cogworker:job_attempts:", &[jid])
    }

    /// STRING: the jid that holds a unique lock.
    pub fn unique(&self, digest: &str) -> Key {
        self.spell("cogworker:unique:", &[digest])
    }

    /// HASH of a job's status.
    pub fn status(&self, jid: &str) -> Key {
        self.spell("status:", &[jid])
    }

    /// STRING: the jid of the run that holds an `until_executed` periodic entry.
    pub fn periodic_running(&self, pjid: &str) -> Key {
        self.spell("periodic:running:", &[pjid])
    }

    /// STRING: epoch second of the newest claimed slot.
    pub fn periodic_last_slot(&self, pjid: &str) -> Key {
        self.spell("periodic:last_slot:", &[pjid])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spelled_as_the_gem_spells_them() {
        let keys = KeySpace::default();
        assert_eq!(keys.queue("q:with:colons"), "cogworker:queue:q:with:colons");
        assert_eq!(keys.inprogress("vm:1:abc"), "cogworker:inprogress:vm:1:abc");
        assert_eq!(keys.throughput(498_890), "cogworker:throughput:498890");
        assert_eq!(keys.status("j"), "status:j");
        assert_eq!(keys.periodic_running("p"), "periodic:running:p");
        assert_eq!(keys.schedule(), "cogworker:schedule");
    }

    #[test]
    fn a_prefix_goes_before_every_key() {
        let keys = KeySpace::with_prefix("{cog}");
        for key in [keys.queues(), keys.queue("a"), keys.status("j"), keys.periodic_schedule()] {
            assert!(key.starts_with("{cog}"), "{key}");
        }
    }
}
