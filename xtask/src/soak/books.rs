//! Whether what the workers ran is what `docs/delivery.md` promises.
//!
//! Whatever happened more often than once, or was cut off, needs an excuse: something that was done
//! to its process while the run was its own, and that is bad enough.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use super::incidents::{Incident, Kind};
use super::ledger::{End, Run};
use super::load::{Fate, Pushed};
use super::worker::{BEAT, COMMAND_TIMEOUT, LONGEST_RUN, lease};

/// What an ended run comes to is written within this time while Redis is there.
const SETTLED_MS: u64 = 1_000;
/// The same after an outage: the connection is made again first, and calls time out before.
const SETTLED_AFTER_OUTAGE_MS: u64 = 4_000;
/// How long it takes to connect once the server is there.
const CONNECTED_MS: u64 = 500;

/// Why an attempt may begin twice, or a run be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Excuse {
    Killed,
    Stopped,
    Frozen,
    /// No heartbeat got through for longer than the lease.
    CutOff,
}

impl fmt::Display for Excuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "process killed",
            Self::Stopped => "told to stop",
            Self::Frozen => "frozen",
            Self::CutOff => "cut off from redis",
        })
    }
}

/// What is known of a job in the set of the dead.
#[derive(Debug)]
pub(super) struct DeadEntry {
    pub(super) failures: u32,
    pub(super) is_junk: bool,
    pub(super) process_died: bool,
}

#[derive(Debug)]
pub(super) struct Books<'a> {
    /// By the time of their begin.
    incidents: &'a [Incident],
    pub(super) done: u64,
    pub(super) dead: u64,
    pub(super) failures: u64,
    /// Attempts begun twice, by the excuse.
    pub(super) doubles: BTreeMap<Excuse, u64>,
    /// Of these, and of the unexcused ones: those that also ended twice.
    pub(super) double_ended: u64,
    pub(super) lost: Vec<String>,
    pub(super) unexcused: Vec<String>,
}

impl<'a> Books<'a> {
    pub(super) fn new(incidents: &'a [Incident]) -> Self {
        Self {
            incidents,
            done: 0,
            dead: 0,
            failures: 0,
            doubles: BTreeMap::new(),
            double_ended: 0,
            lost: Vec::new(),
            unexcused: Vec::new(),
        }
    }

    pub(super) fn enter(&mut self, job: &Pushed, runs: &[Run], dead: Option<&DeadEntry>) {
        for run in runs {
            self.check_end(job, run);
        }
        self.check_doubles(job, runs);
        let done = runs.iter().filter(|run| matches!(run.end, Some((End::Done, _))));
        let done = done.min_by_key(|run| run.attempt);
        if job.fate == Fate::Refused && (dead.is_some() || !runs.is_empty()) {
            self.fault(job, "its push was refused, and it is there".into());
        }
        if let Some(late) = done.and_then(|done| runs.iter().find(|run| run.attempt > done.attempt)) {
            self.fault(job, format!("it went on after it was done: {late:?}"));
        }
        match (dead, done) {
            (Some(entry), _) => {
                self.dead += 1;
                self.failures += u64::from(entry.failures);
                if job.failures < job.retries && !entry.process_died {
                    self.fault(job, "it is dead and should not be".into());
                }
            }
            (None, Some(run)) => {
                self.done += 1;
                self.failures += u64::from(run.attempt.saturating_sub(1));
            }
            (None, None) if job.fate == Fate::Pushed || !runs.is_empty() => self.lost.push(job.jid.clone()),
            (None, None) => {}
        }
    }

    fn fault(&mut self, job: &Pushed, what: String) {
        self.unexcused.push(format!("{}: {what}", job.jid));
    }

    /// A process that lives says how each of its runs ended, and cuts none off without need.
    fn check_end(&mut self, job: &Pushed, run: &Run) {
        let excuse = self.excuse(job, run);
        let excused = match run.end {
            Some((End::Done | End::Failed, _)) => true,
            Some((End::CutOff, _)) => excuse.is_some_and(|excuse| excuse != Excuse::Killed),
            None => matches!(excuse, Some(Excuse::Killed | Excuse::Stopped)),
        };
        if !excused {
            self.fault(job, format!("a run was cut off without cause: {run:?}"));
        }
    }

    /// An attempt that was begun twice is excused by what befell the first run's process.
    fn check_doubles(&mut self, job: &Pushed, runs: &[Run]) {
        let mut attempts: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        for run in runs {
            attempts.entry(run.attempt).or_default().push(run);
        }
        for runs in attempts.values() {
            let ended = runs.iter().filter(|run| matches!(run.end, Some((End::Done | End::Failed, _))));
            self.double_ended += (ended.count() as u64).saturating_sub(1);
            for pair in runs.windows(2) {
                match self.excuse(job, pair[0]) {
                    Some(excuse) => *self.doubles.entry(excuse).or_default() += 1,
                    None => self.fault(job, format!("run twice without cause: {:?}, {:?}", pair[0], pair[1])),
                }
            }
            for (index, first) in runs.iter().enumerate() {
                let second = runs[index + 1..].iter().find(|second| at_once(first, second));
                // Nobody can abort a blocking run: it may go on when its process has lost the job.
                if let Some(second) = second.filter(|_| !job.blocking) {
                    self.fault(job, format!("one process ran it twice at once: {first:?}, {second:?}"));
                }
            }
        }
    }

    /// Why the run may have been cut off, or its attempt begun once more.
    fn excuse(&self, job: &Pushed, run: &Run) -> Option<Excuse> {
        let until = self.held_until(run);
        let settles_itself = !job.blocking && matches!(run.end, Some((End::Done | End::Failed, _)));
        let excuses =
            self.incidents.iter().filter(|incident| incident.befell(run.pid)).filter_map(|incident| {
                let overlaps = incident.overlaps(run.begun_ms, until);
                match incident.kind {
                    Kind::WorkerKilled => overlaps.then_some(Excuse::Killed),
                    Kind::WorkerRestarted => (overlaps && !settles_itself).then_some(Excuse::Stopped),
                    Kind::WorkerFrozen => (overlaps && outlasts_lease(incident)).then_some(Excuse::Frozen),
                    kind if kind.is_outage() => {
                        // Jobs taken before it are begun until it is noticed.
                        let noticed =
                            Incident { until_ms: incident.until_ms + unnoticed_ms(kind), ..*incident };
                        (noticed.overlaps(run.begun_ms, until) && outlasts_lease(incident))
                            .then_some(Excuse::CutOff)
                    }
                    _ => None,
                }
            });
        excuses.min()
    }

    /// Until when what the run came to may still have been unwritten.
    fn held_until(&self, run: &Run) -> u64 {
        let longest = run.begun_ms + LONGEST_RUN.as_millis() as u64;
        let mut until = match run.end {
            // What cut it off came before.
            Some((End::CutOff, at_ms)) => return at_ms,
            Some((_, at_ms)) => at_ms + SETTLED_MS,
            None => longest + SETTLED_MS,
        };
        for incident in self.incidents {
            let delays = incident.kind.breaks_connections() || incident.kind == Kind::WorkerFrozen;
            if delays && incident.befell(run.pid) && incident.overlaps(run.begun_ms, until) {
                until = until.max(incident.until_ms + SETTLED_AFTER_OUTAGE_MS);
            }
        }
        until
    }
}

fn at_once(first: &Run, second: &Run) -> bool {
    let ended = first.end.map_or(first.begun_ms, |(_, at_ms)| at_ms);
    first.pid == second.pid && second.begun_ms < ended
}

/// How much longer than it lasts it may keep heartbeats away: the last one before was some time ago, the
/// one under way has to time out if its reply was lost, and a new connection is made for the next.
fn unnoticed_ms(kind: Kind) -> u64 {
    let timeout = if kind.is_outage() { COMMAND_TIMEOUT.as_millis() as u64 } else { 0 };
    2 * BEAT.as_millis() as u64 + timeout + CONNECTED_MS
}

fn outlasts_lease(incident: &Incident) -> bool {
    incident.length_ms() + unnoticed_ms(incident.kind) > lease().as_millis() as u64
}
