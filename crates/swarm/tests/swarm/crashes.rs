//! Workers that die, and a swarm that does.

use std::time::{Duration, Instant};

use cogworker_testing::wait_until;

use crate::support::{Release, SOON, Swarm, TestResult, is_alive, kill};

#[test]
fn ten_running_jobs_of_a_killed_worker_run_again_within_3_s() -> TestResult {
    for count in [1, 2] {
        let swarm = Swarm::start(Release::new()?, count, &["-c", "10"], &[])?;
        swarm.all_ready()?;
        for n in 0..10 {
            swarm.push("SleepJob", "[60]", &format!("j{n}"))?;
        }
        let running = |swarm: &Swarm| swarm.identities().iter().map(|id| swarm.running(id)).sum::<i64>();
        swarm.reach("all run", |it| running(it) == 10)?;
        let (victim, identity) = swarm
            .workers()
            .into_iter()
            .filter_map(|pid| Some((pid, swarm.identity_of(pid)?)))
            .max_by_key(|(_, identity)| swarm.running(identity))
            .ok_or("no worker")?;
        let lost = swarm.running(&identity);
        kill(victim, "KILL")?;
        let start = Instant::now();
        swarm
            .reach("they run again elsewhere", |it| it.identity_of(victim).is_none() && running(it) == 10)?;
        assert!(start.elapsed() < Duration::from_secs(3), "{count} workers: {:?}", start.elapsed());
        assert_eq!(swarm.held(&identity), 0);
        // Each counts as orphaned, once; those of the other worker do not.
        let counters = swarm.texts(&["KEYS", "cogworker:orphanings:*"]);
        assert_eq!(counters.len() as i64, lost);
        assert!(counters.iter().all(|key| swarm.int(&["GET", key]) == 1), "{counters:?}");
    }
    Ok(())
}

#[test]
fn while_the_place_of_a_dead_worker_stays_empty_a_sibling_brings_its_jobs_back() -> TestResult {
    let swarm = Swarm::ready(2, &["-c", "1"], &[])?;
    let victim = |swarm: &Swarm| -> Option<u32> {
        let line = swarm.logged("in place 0 is ready").pop()?;
        line.split_once("worker ")?.1.split(' ').next()?.parse().ok()
    };
    // The pause after its third death is 2 s.
    for deaths in 1..=2 {
        kill(victim(&swarm).ok_or("nobody")?, "KILL")?;
        swarm
            .reach("the place is filled again", |it| it.logged("in place 0 is ready").len() == deaths + 1)?;
    }
    swarm.push("SleepJob", "[60]", "j0")?;
    swarm.push("SleepJob", "[60]", "j1")?;
    let victim = victim(&swarm).ok_or("nobody")?;
    let identity = swarm.identity_of(victim).ok_or("no identity")?;
    swarm.reach("both are busy", |it| it.identities().iter().all(|id| it.running(id) == 1))?;
    kill(victim, "KILL")?;
    let start = Instant::now();
    swarm.reach("its job is back", |it| it.int(&["LLEN", "cogworker:queue:default"]) == 1)?;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!((swarm.held(&identity), swarm.workers().len()), (0, 1), "the place is still empty");
    swarm.reach("the next one runs it", |it| it.int(&["LLEN", "cogworker:queue:default"]) == 0)
}

#[test]
fn a_frozen_sibling_holds_the_jobs_of_a_dead_worker_up_for_seconds_only() -> TestResult {
    let swarm = Swarm::ready(2, &["-c", "1"], &[])?;
    swarm.push("SleepJob", "[60]", "j0")?;
    swarm.push("SleepJob", "[60]", "j1")?;
    swarm.reach("both are busy", |it| {
        let identities = it.identities();
        identities.len() == 2 && identities.iter().all(|id| it.running(id) == 1)
    })?;
    let [frozen, victim] = swarm.workers().into_iter().collect::<Vec<_>>()[..] else {
        return Err("two".into());
    };
    let frozen_identity = swarm.identity_of(frozen).ok_or("no identity")?;
    kill(frozen, "STOP")?;
    kill(victim, "KILL")?;
    let start = Instant::now();
    let back = swarm.reach("the job runs again", |it| {
        let others = it.identities().into_iter().filter(|id| *id != frozen_identity);
        others.map(|id| it.running(&id)).sum::<i64>() == 1 && it.identity_of(victim).is_none()
    });
    let took = start.elapsed();
    let kept = swarm.held(&frozen_identity);
    kill(frozen, "KILL")?;
    back?;
    assert!(took < Duration::from_secs(10), "{took:?}");
    // It is frozen, not dead.
    assert_eq!(kept, 1);
    Ok(())
}

#[test]
fn a_poison_job_ends_in_dead_and_its_neighbours_are_done() -> TestResult {
    let swarm = Swarm::ready(2, &["-c", "10"], &[])?;
    // Held back until all are there: one worker takes them together.
    swarm.redis.command(&["SADD", "cogworker:paused_queues", "default"])?;
    for n in 0..4 {
        swarm.push("SleepJob", "[0.4]", &format!("a{n}"))?;
    }
    swarm.push("CrashJob", "[]", "poison")?;
    for n in 0..4 {
        swarm.push("SleepJob", "[0.4]", &format!("b{n}"))?;
    }
    swarm.redis.command(&["DEL", "cogworker:paused_queues"])?;
    swarm.reach("the poison is dead", |it| it.int(&["ZCARD", "cogworker:dead"]) == 1)?;
    let dead = swarm.texts(&["ZRANGE", "cogworker:dead", "0", "-1"]);
    assert!(dead[0].contains("poison") && dead[0].contains("Cogworker::ProcessDied"), "{dead:?}");
    swarm.reach("all others are done", |it| it.processed() >= 8)?;
    swarm.reach("nothing is left", |it| it.texts(&["KEYS", "cogworker:orphanings:*"]).is_empty())?;
    // It took four processes down, and not one more.
    assert_eq!(swarm.logged("ERROR: worker").iter().filter(|line| line.contains("signal: 6")).count(), 4);
    assert_eq!(swarm.int(&["ZCARD", "cogworker:dead"]), 1);
    Ok(())
}

#[test]
fn without_the_parent_no_worker_is_left_after_5_s_and_jobs_are_given_back() -> TestResult {
    let mut swarm = Swarm::ready(3, &["-c", "2"], &[])?;
    swarm.push("SleepJob", "[60]", "sleeper")?;
    swarm.push("SpinJob", "[60]", "spinner")?;
    let running = |swarm: &Swarm| swarm.identities().iter().map(|id| swarm.running(id)).sum::<i64>();
    swarm.reach("both run", |it| running(it) == 2)?;
    let workers = swarm.workers();
    assert_eq!(workers.len(), 3);
    kill(swarm.process.pid(), "KILL")?;
    let gone = wait_until(Duration::from_secs(5), || !workers.iter().any(|pid| is_alive(*pid)));
    assert!(gone, "workers are left");
    assert!(!swarm.process.is_running());
    assert_eq!(swarm.int(&["LLEN", "cogworker:queue:default"]), 2);
    assert_eq!(swarm.identities().len(), 0);
    Ok(())
}

#[test]
fn a_program_that_never_starts_is_tried_after_growing_pauses_and_the_log_says_why_p_43() -> TestResult {
    // At once, and after a start that takes a while: neither was ever ready.
    for boot in ["", "sleep 0.4"] {
        let mut swarm = Swarm::start(
            Release::of_script(&format!("{boot}\necho 'no database' >&2\nexit 7"))?,
            2,
            &[],
            &[],
        )?;
        swarm.reach("the third pause", |it| it.logged("starts in 2 s").len() == 2)?;
        for place in 0..2 {
            let ends = swarm.logged(&format!("in place {place} ended before it was ready (exit status: 7)"));
            let pauses: Vec<_> = ends.iter().map(|line| line.split("the next one ").last()).collect();
            let expected = [
                "starts at once",
                "starts in 1 s, after 2 failures in a row",
                "starts in 2 s, after 3 failures in a row",
            ];
            assert_eq!(pauses, expected.map(Some));
        }
        assert_eq!(swarm.logged("wrote last: no database").len(), 6);
        assert_eq!(swarm.stop()?, Some(0), "{boot}");
    }
    Ok(())
}

#[test]
fn a_worker_that_cannot_be_started_at_all_is_tried_again_and_named() -> TestResult {
    let release = Release::of_script("exec \"$WORKER\" \"$@\"")?;
    let swarm = Swarm::start(release, 1, &[], &[])?;
    swarm.all_ready()?;
    let worker = swarm.release.folder().join("worker");
    std::fs::rename(&worker, swarm.release.folder().join("away"))?;
    kill(*swarm.workers().first().ok_or("no worker")?, "KILL")?;
    let text = format!("failed to start a worker in place 0: {}: No such file", worker.display());
    swarm.reach("it is told", |it| !it.logged(&text).is_empty())?;
    // How the killed one ended, and what it wrote, is not said of this one.
    let ended = "worker (not started) in place 0 ended before it was ready (not started)";
    swarm.reach("its end is told", |it| !it.logged(ended).is_empty())?;
    assert_eq!(swarm.logged("worker (not started) wrote last"), [""; 0]);
    std::fs::rename(swarm.release.folder().join("away"), &worker)?;
    swarm.reach("it is ready again", |it| it.logged("is ready").len() == 2)
}

#[test]
fn a_script_that_does_not_become_the_worker_is_told_to() -> TestResult {
    let swarm = Swarm::start(Release::of_script("\"$WORKER\" \"$@\"\nexit 9")?, 1, &[], &[])?;
    swarm.process.wait_for_log("must replace itself by the worker (exec)", SOON)?;
    swarm.reach("it counts as an end", |it| !it.logged("exit status: 9").is_empty())
}

#[test]
fn what_a_job_starts_gets_neither_the_line_nor_the_identity() -> TestResult {
    // The worker's child outlives it and holds whatever it got.
    let swarm = Swarm::start(Release::of_script("exec \"$WORKER\" \"$@\"")?, 1, &[], &[])?;
    swarm.all_ready()?;
    let pid = *swarm.workers().first().ok_or("no worker")?;
    let input = std::fs::read_link(format!("/proc/{pid}/fd/0"))?;
    assert_eq!(input.to_str(), Some("/dev/null"));
    // With the variable alone a worker works for itself.
    let mut alone = std::process::Command::new(crate::support::example_worker());
    alone.env("REDIS_URL", swarm.redis.url()).env("COGWORKER_SWARM_CHILD", "1");
    let mut alone = cogworker_testing::WorkerProcess::spawn_command(alone)?;
    alone.wait_for_log("is working on", SOON)?;
    alone.signal("TERM")?;
    assert_eq!(alone.wait(SOON)?.code(), Some(0));
    Ok(())
}
