//! Where a job is, and which entry there is meant.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use cogworker_client::{Client, EntryRef, JobSet, RunningJob};
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;

use super::query::State;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Queue(String),
    Running,
    Schedule,
    Retry,
    Dead,
}

impl Place {
    pub(super) fn state(&self) -> State {
        match self {
            Self::Queue(_) => State::Enqueued,
            Self::Running => State::Running,
            Self::Schedule => State::Scheduled,
            Self::Retry => State::Retrying,
            Self::Dead => State::Dead,
        }
    }

    /// The set of a state that has one.
    pub(super) fn of_set(state: State) -> Option<Self> {
        match state {
            State::Scheduled => Some(Self::Schedule),
            State::Retrying => Some(Self::Retry),
            State::Dead => Some(Self::Dead),
            _ => None,
        }
    }

    pub(super) fn set(&self, client: &Client) -> Option<JobSet> {
        match self {
            Self::Schedule => Some(client.schedule()),
            Self::Retry => Some(client.retries()),
            Self::Dead => Some(client.dead()),
            Self::Queue(_) | Self::Running => None,
        }
    }

    /// In a sentence.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Queue(queue) => queue.clone(),
            other => other.state().set_name().to_owned(),
        }
    }
}

/// One entry, as addresses and forms name it: `d:<reference>`, `q:<reference>:<queue>`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(super) place: Place,
    pub(super) entry: EntryRef,
}

/// A text that names no entry.
#[derive(Debug)]
pub(crate) struct NotATarget;

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, entry } = self;
        match place {
            Place::Queue(queue) => write!(f, "q:{entry}:{queue}"),
            Place::Running => write!(f, "w:{entry}"),
            Place::Schedule => write!(f, "s:{entry}"),
            Place::Retry => write!(f, "r:{entry}"),
            Place::Dead => write!(f, "d:{entry}"),
        }
    }
}

impl FromStr for Target {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, NotATarget> {
        let (kind, rest) = text.split_once(':').ok_or(NotATarget)?;
        let entry = |text: &str| text.parse().map_err(|_| NotATarget);
        let place = match kind {
            "q" => {
                let (at, _) = rest.match_indices(':').nth(1).ok_or(NotATarget)?;
                return Ok(Self {
                    place: Place::Queue(rest[at + 1..].to_owned()),
                    entry: entry(&rest[..at])?,
                });
            }
            "w" => Place::Running,
            "s" => Place::Schedule,
            "r" => Place::Retry,
            "d" => Place::Dead,
            _ => return Err(NotATarget),
        };
        Ok(Self { place, entry: entry(rest)? })
    }
}

/// An entry that is there now.
#[derive(Debug, Clone)]
pub(super) struct Located {
    pub(super) target: Target,
    pub(super) raw: Bytes,
    pub(super) score: Option<EpochSeconds>,
    pub(super) running: Option<Runs>,
}

/// What runs a job, and since when.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    pub(super) identity: String,
    pub(super) slot: String,
    pub(super) since: EpochSeconds,
}

impl Located {
    pub(super) fn running(place: u64, job: &RunningJob) -> Self {
        let raw = Bytes::copy_from_slice(job.work.raw.get().as_bytes());
        let target = Target { place: Place::Running, entry: EntryRef::new(&raw, place, None) };
        let runs = Runs { identity: job.identity.clone(), slot: job.slot.clone(), since: job.work.run_at };
        Self { target, raw, score: None, running: Some(runs) }
    }
}

impl Target {
    /// The entry, when it is still there.
    pub(super) async fn find(&self, client: &Client) -> Result<Option<Located>, RedisError> {
        let located = |raw, score| Located { target: self.clone(), raw, score, running: None };
        if let Some(set) = self.place.set(client) {
            let found = set.find(&self.entry).await?;
            return Ok(found.map(|entry| located(entry.raw, Some(entry.score))));
        }
        match &self.place {
            Place::Queue(queue) => {
                let found = client.queue(queue).find(&self.entry).await?;
                Ok(found.map(|raw| located(raw, None)))
            }
            _ => {
                let running = client.running_jobs().await?;
                let mut running =
                    running.iter().enumerate().map(|(at, job)| Located::running(at as u64, job));
                Ok(running.find(|job| job.target.entry.hash() == self.entry.hash()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_as_it_is_written_whatever_the_queue_is_called_p_38() {
        let entry = EntryRef::new(b"x", 3, None);
        for queue in ["default", "a:b", "", ":", "a/b é", "1:2:3"] {
            let target = Target { place: Place::Queue(queue.to_owned()), entry: entry.clone() };
            assert_eq!(target.to_string().parse::<Target>().ok(), Some(target));
        }
        let entry = EntryRef::new(b"x", 3, Some(EpochSeconds::new(1.5)));
        for place in [Place::Schedule, Place::Retry, Place::Dead] {
            let target = Target { place, entry: entry.clone() };
            assert_eq!(target.to_string().parse::<Target>().ok(), Some(target));
        }
        for odd in ["", "q", "q:", "x:1", "d:1:2", "q:1:2:3"] {
            assert!(odd.parse::<Target>().is_err(), "{odd}");
        }
    }
}
