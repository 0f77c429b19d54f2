//! Restarts: one worker after the other, all at once, and with a program that does not work.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use cogworker_testing::wait_until;

use crate::service::Manager;
use crate::support::{Release, SOON, Swarm, TestResult};

const PHASED: (&str, &str) = ("PHASED_RESTART", "true");

#[test]
fn a_phased_restart_under_load_loses_no_job_and_always_has_three_ready_workers_swarm_03() -> TestResult {
    let manager = Manager::new()?;
    let swarm = Swarm::ready(4, &["-c", "5"], &[PHASED, manager.var()])?;
    let old = swarm.workers();
    assert_eq!(old.len(), 4);
    let (pushed, stop) = (AtomicI64::new(0), AtomicBool::new(false));
    thread::scope(|scope| -> TestResult {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let n = pushed.load(Ordering::Relaxed);
                let class = if n % 5 == 0 { ("SleepJob", "[0.3]") } else { ("NoopJob", "[]") };
                if swarm.push(class.0, class.1, &format!("j{n}")).is_ok() {
                    pushed.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(3));
            }
        });
        let outcome = (|| {
            swarm.reach("work is under way", |it| it.processed() > 50)?;
            swarm.release.deploy_worker()?;
            swarm.process.signal("USR2")?;
            swarm.reach("it is restarted", |it| !it.logged("INFO: restarted in").is_empty())?;
            swarm.reach("the old ones are gone", |it| it.workers().is_disjoint(&old))
        })();
        stop.store(true, Ordering::Relaxed);
        outcome
    })?;
    let pushed = pushed.load(Ordering::Relaxed);
    swarm.reach("all jobs are done", |it| it.processed() == pushed)?;
    // None ran twice, none failed, none is anywhere else.
    assert_eq!(swarm.processed(), pushed);
    for key in ["cogworker:stats:failed", "cogworker:retry", "cogworker:dead"] {
        assert_eq!(swarm.int(&["EXISTS", key]), 0, "{key}");
    }
    assert_eq!(swarm.workers().len(), 4);
    assert!(swarm.workers().into_iter().all(|pid| swarm.release.runs_newest(pid)));
    assert_eq!(swarm.identities().len(), 4);
    let ready = manager.ready_counts();
    let from = ready.iter().position(|count| *count == 4).ok_or("never all")?;
    assert!(ready[from..].iter().all(|count| *count >= 3), "{ready:?}");
    assert!(swarm.logged("orphan").is_empty() && swarm.logged("ERROR").is_empty());
    eprintln!("{pushed} jobs; ready: {ready:?}; {:?}", swarm.logged("INFO: restarted in"));
    Ok(())
}

#[test]
fn a_program_that_does_not_start_replaces_nobody_and_the_log_says_why() -> TestResult {
    let swarm = Swarm::ready(4, &["-c", "5"], &[PHASED])?;
    let old = swarm.workers();
    swarm.release.deploy_script("echo 'libfoo.so: cannot open' >&2\nexit 7")?;
    swarm.process.signal("USR2")?;
    swarm.reach("it is given up", |it| !it.logged("the restart is given up").is_empty())?;
    let said = swarm.logged("ERROR");
    assert!(said[0].contains("ended before it was ready (exit status: 7); 4 workers go on"), "{said:?}");
    assert!(said[1].contains("wrote last: libfoo.so: cannot open"), "{said:?}");
    assert_eq!(swarm.workers(), old);
    swarm.push("NoopJob", "[]", "j")?;
    swarm.reach("they still work", |it| it.processed() == 1)?;
    // And the next deployment works as if nothing had been.
    swarm.release.deploy_worker()?;
    swarm.process.signal("USR2")?;
    swarm.reach("all are new", |it| {
        it.workers().len() == 4 && it.workers().into_iter().all(|pid| it.release.runs_newest(pid))
    })
}

#[test]
fn a_program_that_starts_too_slowly_replaces_nobody() -> TestResult {
    let swarm = Swarm::ready(2, &["--boot-timeout", "1"], &[PHASED])?;
    let old = swarm.workers();
    swarm.release.deploy_script("sleep 60")?;
    swarm.process.signal("USR2")?;
    swarm.reach("it is given up", |it| !it.logged("was not ready in time; 2 workers go on").is_empty())?;
    swarm.reach("only the old ones are left", |it| it.workers() == old)
}

#[test]
fn a_slow_start_a_busy_and_a_stubborn_worker_are_replaced_even_when_told_again_meanwhile_p_46() -> TestResult
{
    let manager = Manager::new()?;
    let vars = [PHASED, manager.var(), ("COGWORKER_SHUTDOWN_TIMEOUT", "1")];
    // A start takes its time. One job each, so that they are spread.
    let release = Release::of_script("sleep 0.7\nexec \"$WORKER\" \"$@\"")?;
    let mut swarm = Swarm::start(release, 3, &["-c", "1"], &vars)?;
    swarm.all_ready()?;
    swarm.push("SleepJob", "[2]", "busy")?;
    swarm.push("SpinJob", "[25]", "stubborn")?;
    let running = |it: &Swarm| it.identities().iter().filter(|identity| it.running(identity) == 1).count();
    swarm.reach("both run", |it| running(it) == 2)?;
    let old = swarm.workers();
    swarm.process.signal("USR2")?;
    swarm.reach("the first one is replaced", |it| it.logged("is ready").len() == 4)?;
    swarm.process.signal("USR2")?;
    swarm.reach("another one follows", |it| it.logged("another one follows").len() == 1)?;
    swarm.process.signal("USR2")?;
    swarm.reach("both restarts are over", |it| it.logged("INFO: restarted in").len() == 2)?;
    swarm.reach("the old ones are gone", |it| it.workers().is_disjoint(&old))?;
    swarm.reach("there are three", |it| it.workers().len() == 3 && it.identities().len() == 3)?;
    let ready = manager.ready_counts();
    let from = ready.iter().position(|count| *count == 3).ok_or("never all")?;
    assert!(ready[from..].iter().all(|count| *count >= 2), "{ready:?}");
    // Put back by a stop, which does not count as a death, and running again.
    assert!(!swarm.logged("put 1 unfinished job back on its queue").is_empty());
    assert!(swarm.texts(&["KEYS", "cogworker:orphanings:*"]).is_empty());
    swarm.process.signal("TERM")?;
    let _ = swarm.process.wait(SOON)?;
    Ok(())
}

#[test]
fn without_phases_all_are_replaced_at_once_and_signals_meanwhile_do_no_harm() -> TestResult {
    let mut swarm = Swarm::ready(3, &[], &[])?;
    let old = swarm.workers();
    swarm.release.deploy_worker()?;
    for _ in 0..5 {
        swarm.process.signal("USR2")?;
    }
    swarm.reach("all are new", |it| {
        let workers = it.workers();
        workers.len() == 3
            && workers.is_disjoint(&old)
            && workers.iter().all(|pid| it.release.runs_newest(*pid))
    })?;
    assert!(wait_until(SOON, || swarm.identities().len() == 3));
    assert!(swarm.logged("ERROR").is_empty());
    assert_eq!(swarm.stop()?, Some(0));
    Ok(())
}
