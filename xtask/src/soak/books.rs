//! Whether what the workers ran is what `docs/delivery.md` promises.
//!
//! Whatever happened more often than once, or was cut off, needs an excuse: something that was done
//! to its process while the run was its own, and that is bad enough.

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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u64 = 4_000;

    fn run(pid: u32, begun_ms: u64, end: Option<(End, u64)>) -> Run {
        Run { pid, attempt: 1, begun_ms, end }
    }

    fn done(pid: u32, begun_ms: u64, at_ms: u64) -> Run {
        run(pid, begun_ms, Some((End::Done, at_ms)))
    }

    fn job() -> Pushed {
        Pushed { jid: "j".into(), fate: Fate::Pushed, failures: 0, retries: 25, blocking: false }
    }

    fn happened(kind: Kind, pid: Option<u32>, from_ms: u64, until_ms: u64) -> Incident {
        Incident { kind, pid, from_ms, until_ms }
    }

    /// What the books find, without the runs.
    fn faults_of(job: &Pushed, runs: &[Run], incidents: &[Incident]) -> Vec<String> {
        let mut books = Books::new(incidents);
        books.enter(job, runs, None);
        let what = |fault: &String| fault.split(": ").nth(1).unwrap_or_default().to_owned();
        books.unexcused.iter().map(what).collect()
    }

    fn faults(runs: &[Run], incidents: &[Incident]) -> Vec<String> {
        faults_of(&job(), runs, incidents)
    }

    fn excuse(runs: &[Run], incidents: &[Incident]) -> Vec<Excuse> {
        let mut books = Books::new(incidents);
        books.enter(&job(), runs, None);
        assert!(books.unexcused.is_empty(), "{:?}", books.unexcused);
        books.doubles.into_keys().collect()
    }

    const TWICE: &str = "run twice without cause";
    const AT_ONCE: &str = "one process ran it twice at once";
    const CUT_OFF: &str = "a run was cut off without cause";

    #[test]
    fn a_job_that_runs_once_needs_no_excuse() {
        assert!(faults(&[done(1, 10, 110)], &[]).is_empty());
    }

    #[test]
    fn two_runs_at_once_in_one_process_are_a_fault_whatever_happened() {
        let runs = [done(1, 10_000, 10_110), done(1, 10_012, 10_112)];
        assert_eq!(faults(&runs, &[]), [TWICE, AT_ONCE]);
        let frozen = happened(Kind::WorkerFrozen, Some(1), 9_000, 9_000 + LONG);
        assert_eq!(faults(&runs, &[frozen]), [AT_ONCE]);
        let blocking = Pushed { blocking: true, ..job() };
        assert!(faults_of(&blocking, &runs, &[frozen]).is_empty());
    }

    #[test]
    fn a_double_after_a_short_time_is_found_though_both_begin_in_the_same_millisecond() {
        assert_eq!(faults(&[done(1, 10, 10), done(1, 10, 10)], &[]), [TWICE]);
    }

    #[test]
    fn a_run_that_is_dropped_in_a_healthy_process_is_a_fault_though_it_runs_again() {
        let dropped = run(1, 10_000, Some((End::CutOff, 10_100)));
        assert_eq!(faults(&[dropped.clone(), done(1, 10_200, 10_300)], &[]), [CUT_OFF, TWICE]);
        let later = happened(Kind::WorkerRestarted, Some(1), 10_150, 11_000);
        assert_eq!(faults(&[dropped, done(1, 10_200, 10_300)], &[later]), [CUT_OFF, TWICE]);
    }

    #[test]
    fn a_run_without_an_end_is_excused_only_by_what_ends_its_process() {
        let runs = [run(1, 10_000, None), done(2, 20_000, 20_100)];
        assert_eq!(faults(&runs, &[]), [CUT_OFF, TWICE]);
        let killed = happened(Kind::WorkerKilled, Some(1), 10_500, 10_500);
        assert_eq!(excuse(&runs, &[killed]), [Excuse::Killed]);
        let stopped = happened(Kind::WorkerRestarted, Some(1), 10_500, 12_000);
        assert_eq!(excuse(&runs, &[stopped]), [Excuse::Stopped]);
        let frozen = happened(Kind::WorkerFrozen, Some(1), 10_500, 10_500 + LONG);
        assert_eq!(faults(&runs, &[frozen]), [CUT_OFF], "it goes on afterwards");
        let long_after = happened(Kind::WorkerKilled, Some(1), 40_000, 40_000);
        assert_eq!(faults(&runs, &[long_after]), [CUT_OFF, TWICE]);
        let another = happened(Kind::WorkerKilled, Some(3), 10_500, 10_500);
        assert_eq!(faults(&runs, &[another]), [CUT_OFF, TWICE]);
    }

    #[test]
    fn a_kill_excuses_a_run_that_had_just_ended_and_none_that_was_settled() {
        let runs = [done(1, 10_000, 10_100), done(2, 20_000, 20_100)];
        assert_eq!(excuse(&runs, &[happened(Kind::WorkerKilled, Some(1), 10_150, 10_150)]), [Excuse::Killed]);
        assert_eq!(faults(&runs, &[happened(Kind::WorkerKilled, Some(1), 11_200, 11_200)]), [TWICE]);
        assert_eq!(faults(&runs, &[happened(Kind::WorkerKilled, Some(1), 9_900, 9_900)]), [TWICE]);
        // What it came to could not be written until a second before.
        let away = happened(Kind::ConnectionsCut, None, 10_050, 10_200);
        let killed = happened(Kind::WorkerKilled, Some(1), 11_200, 11_200);
        assert_eq!(excuse(&runs, &[away, killed]), [Excuse::Killed]);
    }

    #[test]
    fn a_stop_excuses_no_run_that_came_to_its_end() {
        let runs = [done(1, 10_000, 10_100), done(2, 20_000, 20_100)];
        let stopped = happened(Kind::WorkerRestarted, Some(1), 10_050, 12_000);
        assert_eq!(faults(&runs, &[stopped]), [TWICE]);
        let dropped = [run(1, 10_000, Some((End::CutOff, 11_600))), done(2, 20_000, 20_100)];
        assert_eq!(excuse(&dropped, &[stopped]), [Excuse::Stopped]);
        let blocking = Pushed { blocking: true, ..job() };
        assert!(faults_of(&blocking, &runs, &[stopped]).is_empty(), "it is put back while it goes on");
    }

    #[test]
    fn an_outage_excuses_only_if_it_outlasts_the_lease_and_overlaps_the_run() {
        let runs = [run(1, 10_000, Some((End::CutOff, 14_000))), done(2, 20_000, 20_100)];
        for kind in [
            Kind::RedisRestarted,
            Kind::RedisKilled,
            Kind::RedisFrozen,
            Kind::RepliesSwallowed,
            Kind::NetworkDead,
        ] {
            assert_eq!(excuse(&runs, &[happened(kind, None, 10_500, 10_500 + LONG)]), [Excuse::CutOff]);
            assert_eq!(faults(&runs, &[happened(kind, None, 10_500, 11_000)]), [CUT_OFF, TWICE], "{kind}");
            assert_eq!(faults(&runs, &[happened(kind, None, 500, 500 + LONG)]), [CUT_OFF, TWICE], "{kind}");
            assert_eq!(faults(&runs, &[happened(kind, None, 14_100, 20_000)]), [CUT_OFF, TWICE], "{kind}");
        }
    }

    #[test]
    fn a_short_freeze_excuses_nothing() {
        let runs = [done(1, 10_000, 10_100), done(2, 20_000, 20_100)];
        let frozen = |length| happened(Kind::WorkerFrozen, Some(1), 10_050, 10_050 + length);
        assert_eq!(excuse(&runs, &[frozen(LONG)]), [Excuse::Frozen]);
        assert_eq!(faults(&runs, &[frozen(1_000)]), [TWICE]);
    }

    #[test]
    fn nothing_else_excuses_a_second_run() {
        let runs = [done(1, 10_000, 10_100), done(2, 20_000, 20_100)];
        for kind in [
            Kind::WorkerQuieted,
            Kind::QueuePaused,
            Kind::ConnectionsCut,
            Kind::ConnectionsKilled,
            Kind::ReplyLost,
            Kind::ScriptsFlushed,
        ] {
            assert_eq!(faults(&runs, &[happened(kind, None, 9_000, 9_000 + LONG)]), [TWICE], "{kind}");
        }
    }

    #[test]
    fn a_refused_push_that_ran_or_died_is_a_fault() {
        let refused = Pushed { fate: Fate::Refused, ..job() };
        let there = "its push was refused, and it is there";
        assert_eq!(faults_of(&refused, &[done(1, 10, 110)], &[]), [there]);
        let mut books = Books::new(&[]);
        let dead = DeadEntry { failures: 1, is_junk: false, process_died: true };
        books.enter(&refused, &[], Some(&dead));
        assert_eq!(books.unexcused, [format!("j: {there}")]);
        assert!(faults_of(&refused, &[], &[]).is_empty());
    }

    #[test]
    fn a_job_that_goes_on_after_it_was_done_is_a_fault() {
        let next = Run { attempt: 2, ..done(2, 20_000, 20_100) };
        assert_eq!(faults(&[done(1, 10, 110), next], &[]), ["it went on after it was done"]);
    }

    #[test]
    fn a_job_is_done_dead_or_lost_and_its_failed_attempts_are_counted() {
        let mut books = Books::new(&[]);
        let failed = run(1, 10, Some((End::Failed, 20)));
        books.enter(&job(), &[failed.clone(), Run { attempt: 2, ..done(1, 50, 60) }], None);
        let doomed = Pushed { failures: u32::MAX, retries: 1, ..job() };
        let dead = DeadEntry { failures: 2, is_junk: false, process_died: false };
        let again = Run { attempt: 2, ..failed.clone() };
        books.enter(&doomed, &[failed.clone(), again], Some(&dead));
        assert_eq!((books.done, books.dead, books.failures), (1, 1, 3));
        assert!(books.unexcused.is_empty() && books.lost.is_empty());
        books.enter(&job(), std::slice::from_ref(&failed), None);
        books.enter(&job(), &[], None);
        let unknown = Pushed { fate: Fate::Unknown, ..job() };
        books.enter(&unknown, &[], None);
        assert_eq!(books.lost, ["j", "j"], "it was perhaps never pushed");
        books.enter(&unknown, &[failed], None);
        assert_eq!(books.lost, ["j", "j", "j"], "it was: it ran");
        books.enter(&job(), &[], Some(&dead));
        assert_eq!(books.unexcused, ["j: it is dead and should not be"]);
    }
}
