//! The excuses, one by one.

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
