//! Effects as the script takes them: what differs only by job goes as one group.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use super::super::KeyPositions;
use super::Effect;
use crate::formats::Durations;
use crate::keys::{Key, KeySpace};
use crate::redis::Call;
use crate::time::{EpochSeconds, utc_day};

/// Positions of the two histories in the script's KEYS.
const HISTORY_SUCCESS: usize = 6;
const HISTORY_FAILED: usize = 7;

/// In how many groups a place is looked for: runs that say much about themselves have one each.
const GROUPS_COMPARED: usize = 8;

type Fields = Vec<(Cow<'static, str>, String)>;

/// The effects of a batch.
#[derive(Debug, Default)]
pub(super) struct EffectArgs {
    statuses: Vec<Statuses>,
    /// The last group in which a status is written, by the hash of its key: the same job may be there twice.
    written_in: HashMap<u64, usize>,
    hasher: RandomState,
    runs: Vec<Runs>,
    durations: BTreeMap<String, u64>,
}

/// Jobs of whose status the same is written.
#[derive(Debug)]
struct Statuses {
    ttl: u64,
    fields: Fields,
    /// The number of the outcome, and the job's status key.
    jobs: Vec<(usize, Key)>,
}

/// Runs that ended alike on one day.
#[derive(Debug)]
struct Runs {
    success: bool,
    day: String,
    /// The number of the outcome, when the run ended, and its record.
    runs: Vec<(usize, EpochSeconds, Vec<u8>)>,
}

impl EffectArgs {
    /// Adds what is written beside the outcome with this number.
    pub(super) fn add(&mut self, number: usize, effect: Effect) {
        match effect {
            Effect::Status { key, ttl, fields } => self.add_status(number, key, ttl, fields),
            Effect::History { record, finished_at, success, class, took } => {
                for (field, by) in Durations::fields_of(&class, took) {
                    let sum = self.durations.entry(field).or_insert(0);
                    *sum = sum.saturating_add(by);
                }
                let (day, run) = (utc_day(finished_at), (number, finished_at, record));
                match self.runs.iter_mut().find(|group| group.success == success && group.day == day) {
                    Some(group) => group.runs.push(run),
                    None => self.runs.push(Runs { success, day, runs: vec![run] }),
                }
            }
        }
    }

    /// Groups are written one after the other, so a job joins none before that of its own earlier status:
    /// the later one stands at the end.
    fn add_status(&mut self, number: usize, key: Key, ttl: u64, fields: Fields) {
        let hash = self.hasher.hash_one(&key);
        let count = self.statuses.len();
        let earlier = self.written_in.get(&hash).copied().unwrap_or(0);
        let first = earlier.max(count.saturating_sub(GROUPS_COMPARED));
        let alike = |group: &Statuses| group.ttl == ttl && group.fields == fields;
        let group = match self.statuses[first..].iter().rposition(alike) {
            Some(place) => first + place,
            None => {
                self.statuses.push(Statuses { ttl, fields, jobs: Vec::new() });
                count
            }
        };
        self.written_in.insert(hash, group);
        self.statuses[group].jobs.push((number, key));
    }

    /// Adds them to a call that is made at `now`.
    pub(super) fn push_to(
        self,
        call: &mut Call,
        positions: &mut KeyPositions,
        keys: &KeySpace,
        now: EpochSeconds,
    ) {
        for Statuses { ttl, fields, jobs } in self.statuses {
            call.push("s");
            call.push(ttl);
            call.push(fields.len() + 1);
            call.push(jobs.len());
            call.push(call.key_count() + 1);
            for (field, value) in fields {
                call.push(&*field);
                call.push(value);
            }
            call.push("update_time");
            call.push(now.to_string());
            for (number, key) in jobs {
                call.push(number);
                call.push_key(key);
            }
        }
        for Runs { success, day, runs } in self.runs {
            call.push("h");
            call.push(if success { HISTORY_SUCCESS } else { HISTORY_FAILED });
            positions.push(Some(keys.history_daily(&day)), call);
            call.push(if success { "success" } else { "failed" });
            call.push(runs.len());
            for (number, finished_at, record) in runs {
                call.push(number);
                call.push(finished_at.as_f64());
                call.push(record);
            }
        }
        if !self.durations.is_empty() {
            call.push("d");
            call.push(self.durations.len());
            positions.push(Some(keys.durations()), call);
            for (field, by) in self.durations {
                call.push(field);
                call.push(by);
            }
        }
    }
}
