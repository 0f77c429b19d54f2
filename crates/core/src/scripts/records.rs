//! Filing what lists hold for a sorted set: unsettled outcomes, and repeat orphans.

use std::time::Duration;

use bytes::Bytes;

use super::{FailureCount, KeyPositions, Step};
use crate::formats::{THROUGHPUT_TTL, epoch_hour};
use crate::keys::Key;
use crate::locks::JobTraces;
use crate::redis::{Call, Redis, RedisError, Reply, Script};
use crate::time::EpochSeconds;

static FILE_RECORDS: Script = Script::new(
    "file_records",
    concat!(
        include_str!("../../lua/parts/release.lua"),
        include_str!("../../lua/parts/count_failed.lua"),
        include_str!("../../lua/parts/note_status.lua"),
        include_str!("../../lua/file_records.lua"),
    ),
);

static FIND_STANDING: Script = Script::new("find_standing", include_str!("../../lua/find_standing.lua"));

/// How long unusable records are kept.
const UNUSABLE_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// What is to become of one element of a list.
#[derive(Debug)]
pub enum Filing {
    /// `entry` goes into a sorted set.
    File {
        /// What the list holds.
        element: Bytes,
        /// The sorted set.
        target: Key,
        /// Its score there.
        score: EpochSeconds,
        /// What goes there.
        entry: Bytes,
        /// True when it is to be counted as a failure now.
        counted: bool,
        /// What goes with it: the job's orphan counter, and the locks to release (UNS-04).
        traces: JobTraces,
    },
    /// It cannot be used: it goes to the list of such records (UNS-03).
    Unusable {
        /// What the list holds.
        element: Bytes,
    },
}

/// What became of the elements.
#[derive(Debug)]
pub struct Filed {
    /// One for each, in order.
    pub steps: Vec<Step>,
    /// Why the first failed one failed.
    pub error: Option<RedisError>,
    /// How the failures among them were counted.
    pub count: FailureCount,
}

/// Files elements of the list `source`, each once (UNS-01 to UNS-05, MAXO-03). At most
/// [`BATCH_LIMIT`](super::BATCH_LIMIT).
pub async fn file_records(redis: &Redis, source: Key, filings: Vec<Filing>) -> Result<Filed, RedisError> {
    let keys = redis.keys();
    let mut call = Call::new()
        .key(source)
        .key(keys.stats_failed())
        .key(keys.throughput(epoch_hour(EpochSeconds::now())))
        .key(keys.quarantined_unsettled_records())
        .arg(THROUGHPUT_TTL.as_secs())
        .arg(UNUSABLE_TTL.as_secs())
        .arg(EpochSeconds::now().as_f64());
    let mut positions = KeyPositions::default();
    for filing in filings {
        match filing {
            Filing::File { element, target, score, entry, counted, traces } => {
                let JobTraces { orphan_counter, locks, status } = traces;
                call.push(if counted { "c" } else { "f" });
                call.push(element);
                positions.push(Some(target), &mut call);
                call.push(score.as_f64());
                call.push(entry);
                positions.push(orphan_counter, &mut call);
                call.push(locks.jid);
                positions.push(locks.unique, &mut call);
                positions.push(locks.running, &mut call);
                positions.push(status, &mut call);
            }
            Filing::Unusable { element } => {
                call.push("q");
                call.push(element);
                for nothing in ["0", "", "", "0", "", "0", "0", "0"] {
                    call.push(nothing);
                }
            }
        }
    }
    let mut replies = redis.call(&FILE_RECORDS, call).await?;
    let steps = Step::read_all(&replies.take()?.bytes()?)?;
    let error = replies.take_error().await?;
    Ok(Filed { steps, error, count: FailureCount::read(&mut replies).await? })
}

/// Those of `entries` (at most [`BATCH_LIMIT`](super::BATCH_LIMIT)) that stand in dead, by their index:
/// after a lost reply, what was buried all the same.
pub async fn find_standing(redis: &Redis, entries: &[Bytes]) -> Result<Vec<usize>, RedisError> {
    let mut call = Call::new().key(redis.keys().dead());
    for entry in entries {
        call.push(entry.clone());
    }
    let standing = redis.call(&FIND_STANDING, call).await?.take()?.array()?;
    let index = |position: Reply| Ok(usize::try_from(position.int()? - 1).unwrap_or(usize::MAX));
    standing.into_iter().map(index).collect()
}
