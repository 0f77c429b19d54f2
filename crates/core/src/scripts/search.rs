//! Looking through queues and sorted sets, and finding one entry again.

use bytes::Bytes;

use super::{BATCH_BYTES, EntrySource};
use crate::page::SearchOrder;
use crate::redis::{Redis, RedisError, Reply, Script};
use crate::time::EpochSeconds;

static SEARCH_ENTRIES: Script = Script::new("search_entries", include_str!("../../lua/search_entries.lua"));
static FIND_ENTRY: Script = Script::new("find_entry", include_str!("../../lua/find_entry.lua"));

/// [`search_entries`] looks at no more in one call: with texts to look for, that is a few milliseconds.
const SEARCH_SLICE: u64 = 1000;
/// [`find_entry`] looks at no more. What is hashed is looked at longer than what is compared.
const FIND_LIMIT: u64 = 5000;
const FIND_BYTES: usize = 16 * BATCH_BYTES;

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundEntry {
    /// How many entries stand before it in the search's order; of [`find_entry`], how many are taken or due before.
    pub place: u64,
    /// The stored bytes.
    pub entry: Bytes,
    /// Its score in a sorted set.
    pub score: Option<EpochSeconds>,
}

/// One step of a search.
#[derive(Debug)]
pub struct SearchStep {
    /// How many entries there are.
    pub total: u64,
    /// How many of them this step looked at; 0 at the end.
    pub looked_at: u64,
    /// Those that hold the texts.
    pub found: Vec<FoundEntry>,
}

/// Looks at the entries after `skip` others, at most `most` (up to 1,000) of them and [`BATCH_BYTES`], and gives those
/// that hold all `texts`, which must be in lower case: ASCII letters are compared without regard to case.
///
/// # Errors
/// When Redis cannot be read.
pub async fn search_entries(
    redis: &Redis,
    source: &EntrySource,
    order: SearchOrder,
    skip: u64,
    most: u64,
    texts: &[String],
) -> Result<SearchStep, RedisError> {
    let from_end = if order == SearchOrder::LastFirst { "1" } else { "0" };
    let call = source.call().arg(from_end).arg(skip).arg(most.clamp(1, SEARCH_SLICE)).arg(BATCH_BYTES);
    let call = texts.iter().fold(call, |call, text| call.arg(text));
    let mut replies = redis.call(&SEARCH_ENTRIES, call).await?;
    let mut size = || replies.take()?.int().map(|size| size.max(0) as u64);
    let (total, looked_at) = (size()?, size()?);
    let mut flat = replies.take()?.array()?.into_iter();
    let mut found = Vec::with_capacity(flat.len() / 3);
    while let (Some(place), Some(entry), Some(score)) = (flat.next(), flat.next(), flat.next()) {
        let place = skip + (place.int()?.max(1) as u64 - 1);
        found.push(FoundEntry { place, entry: entry.bytes()?, score: read_score(score)? });
    }
    Ok(SearchStep { total, looked_at, found })
}

/// The entry whose bytes have the SHA-1 `hash`, in hexadecimal, and that was seen at `place`: with `score` in a sorted
/// set, without in a list. It is looked for around that place alone, or among those of its score; `None` when it is
/// not there.
///
/// # Errors
/// When Redis cannot be read.
pub async fn find_entry(
    redis: &Redis,
    source: &EntrySource,
    hash: &str,
    place: u64,
    score: Option<EpochSeconds>,
) -> Result<Option<FoundEntry>, RedisError> {
    let (lowest, highest) = score.map_or_else(Default::default, scores_of);
    let call = source.call().arg(hash).arg(place).arg(lowest).arg(highest).arg(FIND_LIMIT).arg(FIND_BYTES);
    let mut replies = redis.call(&FIND_ENTRY, call).await?;
    if replies.take()?.int()? != 1 {
        return Ok(None);
    }
    let place = replies.take()?.int()?.max(0) as u64;
    let entry = replies.take()?.bytes()?;
    Ok(Some(FoundEntry { place, entry, score: read_score(replies.take()?)? }))
}

/// The lowest and the highest score that are read as this one.
fn scores_of(score: EpochSeconds) -> (String, String) {
    let text = score.to_string();
    match score {
        EpochSeconds::LAST => (text, "+inf".to_owned()),
        EpochSeconds::FIRST => ("-inf".to_owned(), text),
        _ => (text.clone(), text),
    }
}

fn read_score(reply: Reply) -> Result<Option<EpochSeconds>, RedisError> {
    match reply.float() {
        Ok(score) => Ok(Some(EpochSeconds::new(score))),
        // A list has none.
        Err(_) => reply.bytes().map(|_| None),
    }
}
