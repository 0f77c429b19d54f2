//! Effects as the script takes them: what differs only by job goes as one group.

use std::borrow::Cow;
use std::collections::BTreeMap;

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
            Effect::Status { key, ttl, fields } => {
                let alike = |group: &&mut Statuses| group.ttl == ttl && group.fields == fields;
                match self.statuses.iter_mut().rev().take(GROUPS_COMPARED).find(alike) {
                    Some(group) => group.jobs.push((number, key)),
                    None => self.statuses.push(Statuses { ttl, fields, jobs: vec![(number, key)] }),
                }
            }
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
