//! Which entry is meant: a short text that finds exactly that one again.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, FoundEntry};
use cogworker_core::time::EpochSeconds;
use sha1::{Digest, Sha1};

use crate::{Entry, JobSet, Queue};

/// Names one entry of a queue or a set by the hash of its bytes, and where it was seen: two jobs with the same jid, or
/// the same score, are told apart (P-23). As a text it fits in a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRef {
    hash: String,
    place: u64,
    score: Option<EpochSeconds>,
}

/// A text that names no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("name an entry by {0:?}: expected hash:place or hash:place:score")]
pub struct NotAnEntryRefError(String);

impl EntryRef {
    /// The entry with these bytes, seen behind `place` others that are taken or due before it; with the score that it
    /// has in a set.
    pub fn new(raw: &[u8], place: u64, score: Option<EpochSeconds>) -> Self {
        let hash = Sha1::digest(raw).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { hash, place, score }
    }

    /// The hash of its bytes, which it keeps wherever it goes unchanged.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn score(&self) -> Option<EpochSeconds> {
        self.score
    }
}

impl fmt::Display for EntryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.hash, self.place)?;
        self.score.map_or(Ok(()), |score| write!(f, ":{score}"))
    }
}

impl FromStr for EntryRef {
    type Err = NotAnEntryRefError;

    fn from_str(text: &str) -> Result<Self, NotAnEntryRefError> {
        let read = || {
            let mut parts = text.splitn(3, ':');
            let hash = parts.next().filter(|hash| hash.len() == 40 && hash.bytes().all(is_hex))?;
            // Lua counts exactly no further.
            let place = parts.next()?.parse().ok().filter(|place| *place < 1 << 53)?;
            let score = match parts.next() {
                None => None,
                Some(score) => Some(EpochSeconds::new(score.parse().ok().filter(|s: &f64| !s.is_nan())?)),
            };
            Some(Self { hash: hash.to_owned(), place, score })
        };
        read().ok_or_else(|| NotAnEntryRefError(text.chars().take(100).collect()))
    }
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

impl JobSet {
    /// The entry that `entry` means; `None` when it is not here any more, or has another time.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn find(&self, entry: &EntryRef) -> Result<Option<Entry>, RedisError> {
        let found = self.look_up(entry).await?;
        Ok(found.and_then(|FoundEntry { entry, score, .. }| Some(Entry { raw: entry, score: score? })))
    }
}

impl JobSet {
    pub(crate) async fn look_up(&self, entry: &EntryRef) -> Result<Option<FoundEntry>, RedisError> {
        // Only what has a score stands in a set.
        let Some(score) = entry.score else { return Ok(None) };
        scripts::find_entry(self.redis(), &self.source(), &entry.hash, entry.place, Some(score)).await
    }
}

impl Queue {
    /// The waiting job that `entry` means; `None` when it is not here any more, or thousands of places from where it
    /// was seen.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn find(&self, entry: &EntryRef) -> Result<Option<Bytes>, RedisError> {
        Ok(self.look_up(entry).await?.map(|found| found.entry))
    }

    pub(crate) async fn place_of(&self, entry: &EntryRef) -> Result<Option<u64>, RedisError> {
        Ok(self.look_up(entry).await?.map(|found| found.place))
    }

    pub(crate) async fn look_up(&self, entry: &EntryRef) -> Result<Option<FoundEntry>, RedisError> {
        scripts::find_entry(self.redis(), &self.source(), &entry.hash, entry.place, None).await
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::{num, option};

    use super::*;

    proptest! {
        #[test]
        fn a_reference_is_read_as_it_is_written(
            raw in any::<Vec<u8>>(),
            place in 0_u64..1 << 53,
            score in option::of(num::f64::ANY),
        ) {
            let entry = EntryRef::new(&raw, place, score.map(EpochSeconds::new));
            prop_assert_eq!(entry.to_string().parse(), Ok(entry));
        }
    }

    #[test]
    fn a_reference_keeps_an_infinite_score() {
        for (score, text) in [(f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
            let entry = EntryRef::new(b"x", 0, Some(EpochSeconds::new(score)));
            assert_eq!(entry.to_string().parse(), Ok(entry.clone()));
            assert_eq!(format!("{}:0:{text}", entry.hash()).parse(), Ok(entry));
        }
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        let hash = "a".repeat(40);
        for text in [
            "",
            "x",
            "abc:1",
            &format!("{hash}:x"),
            &format!("{hash}:-1"),
            &format!("{hash}:1:nan"),
            &format!("{hash}:99999999999999999:1"),
            &hash,
        ] {
            assert!(text.parse::<EntryRef>().is_err(), "{text}");
        }
    }
}
