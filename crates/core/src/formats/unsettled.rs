//! Outcomes that a stopping process could not file.

use serde::Deserialize;

use crate::keys::{Key, KeySpace};
use crate::payload_edit::json_string;
use crate::time::EpochSeconds;

/// A record of the list `cogworker:unsettled` (UNS-02).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct UnsettledRecord {
    /// The sorted set it belongs in: retry, dead or schedule, without a key prefix.
    pub set: String,
    /// Its score there.
    pub score: EpochSeconds,
    /// The entry.
    pub payload: String,
}

impl UnsettledRecord {
    /// The record to store for `entry`, which is valid text.
    pub fn new(set: String, score: EpochSeconds, entry: &[u8]) -> Self {
        Self { set, score, payload: String::from_utf8_lossy(entry).into_owned() }
    }

    /// Reads a record; `None` when it cannot be used (UNS-03).
    pub fn parse(raw: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(raw).ok().filter(|record| record.score.as_f64().is_finite())
    }

    /// As stored.
    pub fn to_json(&self) -> Vec<u8> {
        let Self { set, score, payload } = self;
        let (set, payload) = (json_string(set), json_string(payload));
        format!(r#"{{"set":{set},"score":{score},"payload":{payload}}}"#).into_bytes()
    }

    /// The key of its set; `None` when it names no set that it may be filed in.
    pub fn target(&self, keys: &KeySpace) -> Option<Key> {
        let plain = KeySpace::default();
        [(plain.retry(), keys.retry()), (plain.dead(), keys.dead()), (plain.schedule(), keys.schedule())]
            .into_iter()
            .find_map(|(name, key)| (self.set == name || self.set == key).then_some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_it_was_written_uns_02() {
        let entry = "{\"class\":\"A\",\"args\":[\"\u{1}é\\u0000\",123456789012345678901234567890]}";
        let record = UnsettledRecord::new("cogworker:dead".into(), EpochSeconds::new(12.5), entry.as_bytes());
        let stored = record.to_json();
        assert!(stored.starts_with(br#"{"set":"cogworker:dead","score":12.5,"payload":"{\"class\""#));
        let read = UnsettledRecord::parse(&stored).unwrap();
        assert_eq!((read.payload.as_str(), &read), (entry, &record));
        let keys = KeySpace::with_prefix("{c}");
        assert_eq!(read.target(&keys).as_deref(), Some("{c}cogworker:dead"));
    }

    #[test]
    fn what_is_no_record_or_names_another_set_is_unusable_uns_03() {
        for raw in ["", "[]", "{}", r#"{"set":"cogworker:dead","score":"x","payload":"{}"}"#] {
            assert_eq!(UnsettledRecord::parse(raw.as_bytes()), None, "{raw}");
        }
        let other =
            UnsettledRecord::parse(br#"{"set":"cogworker:queues","score":1,"payload":"{}"}"#).unwrap();
        assert_eq!(other.target(&KeySpace::default()), None);
    }
}
