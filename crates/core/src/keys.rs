//! Every Redis key Cogworker uses, spelled once.
//!
//! The names are the Ruby gem's, so both can share one Redis. A prefix (for example
//! `{cogworker}`) goes before each of them, which puts all keys of an installation into one
//! Redis Cluster slot. No other file spells a key.

mod glob;
mod key_type;

use std::fmt;
use std::sync::Arc;

#[doc(hidden)]
pub use glob::escape_glob;
pub use key_type::KeyType;

/// Before the name of a key that was moved away.
const QUARANTINE: &str = "cogworker:quarantine:";

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

/// What the name of a quarantined key tells.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineName {
    /// The key it was.
    pub key: Key,
    /// When it was moved, by the mover's clock.
    pub epoch_ms: u64,
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
        /// SET of process identities.
        processes = "cogworker:processes";
        /// STRING counter of successful runs.
        stats_processed = "cogworker:stats:processed";
        /// STRING counter of failed runs.
        stats_failed = "cogworker:stats:failed";
        /// ZSET of every run's record, scored by its end.
        history_all = "cogworker:history:all";
        /// ZSET of the records of successful runs.
        history_success = "cogworker:history:success";
        /// ZSET of the records of failed runs.
        history_failed = "cogworker:history:failed";
        /// HASH of how long runs took, `<bucket>:<class>` and `sum:<class>`; Rust only.
        durations = "cogworker:durations";
        /// HASH of the published periodic entries.
        periodic_schedule = "periodic:schedule";
        /// SET of the periodic ids that are switched off.
        periodic_disabled = "periodic:disabled";
        /// LIST of unsettled records that cannot be filed.
        quarantined_unsettled_records = "cogworker:quarantine:cogworker:unsettled:records";
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

    /// STRING: the number of the newest settlement of a process, and what it came to; Rust only.
    pub fn settling(&self, identity: &str) -> Key {
        self.spell("cogworker:settling:", &[identity])
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

    /// HASH of the runs that ended on a UTC day, as `success` and `failed`; `day` is `2026-11-30`.
    pub fn history_daily(&self, day: &str) -> Key {
        self.spell("cogworker:history:daily:", &[day])
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

    /// STRING: taken by the process that claims the slot at `at`, epoch s.
    pub fn periodic_lock(&self, pjid: &str, at: i64) -> Key {
        self.spell("periodic:lock:", &[pjid, ":", &at.to_string()])
    }

    /// STRING: epoch second of the newest claimed slot.
    pub fn periodic_last_slot(&self, pjid: &str) -> Key {
        self.spell("periodic:last_slot:", &[pjid])
    }

    /// What each key without a variable part must hold, as far as it is guarded (GUARD-09).
    #[doc(hidden)]
    pub fn guarded(&self) -> Vec<(Key, KeyType)> {
        vec![
            (self.queues(), KeyType::Set),
            (self.processes(), KeyType::Set),
            (self.inprogress_identities(), KeyType::Set),
            (self.periodic_schedule(), KeyType::Hash),
            (self.paused_queues(), KeyType::Set),
            (self.periodic_disabled(), KeyType::Set),
            (self.last_beat(), KeyType::Hash),
            (self.live_queues(), KeyType::SortedSet),
            (self.schedule(), KeyType::SortedSet),
            (self.retry(), KeyType::SortedSet),
            (self.dead(), KeyType::SortedSet),
            (self.repeat_orphans(), KeyType::List),
            (self.unsettled(), KeyType::List),
            (self.stats_processed(), KeyType::String),
            (self.stats_failed(), KeyType::String),
        ]
    }

    /// Where `key` goes when it holds the wrong type. `hex8` tells two moves in one millisecond
    /// apart (GUARD-06, GUARD-09).
    #[doc(hidden)]
    pub fn quarantine(&self, key: &str, epoch_ms: u64, hex8: &str) -> Key {
        let name = key.strip_prefix(&*self.prefix).unwrap_or(key);
        self.spell(QUARANTINE, &[name, ":", &epoch_ms.to_string(), ":", hex8])
    }

    /// The inverse of [`quarantine`](Self::quarantine). Read from the end, so that a key is never
    /// taken for another one whose name only starts the same (GUARD-08).
    #[doc(hidden)]
    pub fn parse_quarantine(&self, copy: &str) -> Option<QuarantineName> {
        let (rest, hex8) = copy.strip_prefix(&*self.prefix)?.strip_prefix(QUARANTINE)?.rsplit_once(':')?;
        let (name, epoch_ms) = rest.rsplit_once(':')?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_number = epoch_ms.bytes().all(|byte| byte.is_ascii_digit());
        if hex8.len() != 8 || !hex8.bytes().all(is_hex) || !is_number {
            return None;
        }
        Some(QuarantineName { key: self.spell(name, &[]), epoch_ms: epoch_ms.parse().ok()? })
    }

    /// A `SCAN` pattern for everything that was moved away.
    #[doc(hidden)]
    pub fn quarantine_pattern(&self) -> String {
        escape_glob(&self.prefix) + QUARANTINE + "*"
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
    #[test]
    fn a_quarantined_key_is_named_after_the_key_the_time_and_chance_guard_09() {
        let keys = KeySpace::default();
        let copy = keys.quarantine(&keys.queue("a"), 1_796_004_601_196, "0123abcd");
        assert_eq!(copy, "cogworker:quarantine:cogworker:queue:a:1796004601196:0123abcd");
        let keys = KeySpace::with_prefix("{cog}");
        let copy = keys.quarantine(&keys.dead(), 7, "0123abcd");
        assert_eq!(copy, "{cog}cogworker:quarantine:cogworker:dead:7:0123abcd");
        assert_eq!(
            keys.quarantined_unsettled_records(),
            "{cog}cogworker:quarantine:cogworker:unsettled:records"
        );
        assert_eq!(KeySpace::with_prefix("[a]*").quarantine_pattern(), r"\[a\]\*cogworker:quarantine:*");
    }

    #[test]
    fn a_quarantined_keys_name_gives_back_the_key_guard_08() {
        for prefix in ["", "{cog}", "a*", "cogworker:quarantine:"] {
            let keys = KeySpace::with_prefix(prefix);
            for queue in ["a", "a:b", "a*b", "a:1796004601196:0123abcd", ""] {
                let key = keys.queue(queue);
                let copy = keys.quarantine(&key, 42, "00000000");
                let expected = QuarantineName { key, epoch_ms: 42 };
                assert_eq!(keys.parse_quarantine(&copy), Some(expected), "{copy}");
            }
            let records = keys.quarantined_unsettled_records();
            assert_eq!(keys.parse_quarantine(&records), None);
        }
        let keys = KeySpace::with_prefix("{cog}");
        for other in [
            "cogworker:quarantine:cogworker:dead:7:0123abcd",
            "{cog}cogworker:quarantine:cogworker:dead:+7:0123abcd",
            "{cog}cogworker:quarantine:cogworker:dead:7:0123ABCD",
            "{cog}cogworker:quarantine:cogworker:dead:7:0123abc",
            "{cog}cogworker:quarantine:cogworker:dead:0123abcd",
            "{cog}cogworker:dead",
        ] {
            assert_eq!(keys.parse_quarantine(other), None, "{other}");
        }
    }
}
