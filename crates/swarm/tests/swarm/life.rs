//! A swarm's start, signals and end.

use std::time::{Duration, Instant};

use cogworker_testing::{TestRedis, wait_until};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::support::{Release, SOON, Swarm, TestResult, command, is_alive, kill};

#[test]
fn three_workers_with_identities_of_their_own_process_ten_jobs_swarm_01() -> TestResult {
    let mut swarm = Swarm::ready(3, &["-c", "2"], &[])?;
    for n in 0..10 {
        swarm.push("NoopJob", "[]", &format!("j{n}"))?;
    }
    swarm.reach("ten jobs are done", |it| it.processed() == 10)?;
    let (identities, workers) = (swarm.identities(), swarm.workers());
    assert_eq!((identities.len(), workers.len()), (3, 3));
    for pid in workers {
        assert!(identities.iter().any(|identity| identity.contains(&format!(":{pid}:"))), "{identities:?}");
    }
    assert_eq!(swarm.stop()?, Some(0));
    assert_eq!(swarm.identities().len(), 0);
    Ok(())
}

#[test]
fn term_to_the_whole_group_ends_everything_within_5_s_swarm_04() -> TestResult {
    let mut swarm = Swarm::ready(2, &[], &[])?;
    let workers = swarm.workers();
    kill_group(swarm.process.pid(), Signal::TERM)?;
    assert!(swarm.process.wait(Duration::from_secs(5))?.success());
    assert!(!workers.into_iter().any(is_alive));
    Ok(())
}

fn kill_group(leader: u32, signal: Signal) -> TestResult {
    let group = i32::try_from(leader).ok().and_then(Pid::from_raw).ok_or("no group")?;
    Ok(kill_process_group(group, signal)?)
}

#[test]
fn int_is_passed_on_and_running_jobs_end_first() -> TestResult {
    let mut swarm = Swarm::ready(2, &[], &[])?;
    swarm.push("SleepJob", "[1.0]", "j")?;
    swarm.reach("it runs", |it| it.identities().iter().any(|identity| it.running(identity) == 1))?;
    swarm.process.signal("INT")?;
    assert_eq!(swarm.process.wait(SOON)?.code(), Some(0));
    assert_eq!((swarm.processed(), swarm.int(&["LLEN", "cogworker:queue:default"])), (1, 0));
    Ok(())
}

#[test]
fn workers_that_are_still_starting_are_stopped_too() -> TestResult {
    // One has not executed the worker yet, and has the default of every signal.
    let mut swarm = Swarm::start(Release::of_script("sleep 60")?, 2, &[], &[])?;
    swarm.reach("both run", |it| it.workers().len() == 2)?;
    assert_eq!(swarm.stop()?, Some(0));
    Ok(())
}

#[test]
fn tstp_quiets_all_workers_and_those_that_come_after_swarm_10() -> TestResult {
    let mut swarm = Swarm::ready(2, &[], &[])?;
    swarm.process.signal("TSTP")?;
    swarm.reach("both are quiet", |it| it.logged("INFO: quiet").len() == 3)?;
    let victim = swarm.workers().into_iter().next().ok_or("no worker")?;
    kill(victim, "KILL")?;
    swarm.reach("the next one is ready", |it| it.logged("is ready").len() == 3)?;
    swarm.push("NoopJob", "[]", "j")?;
    assert!(!wait_until(Duration::from_millis(700), || swarm.processed() > 0), "a quiet swarm took a job");
    // A restart ends that.
    swarm.process.signal("USR2")?;
    swarm.reach("the job is done", |it| it.processed() == 1)?;
    assert_eq!(swarm.stop()?, Some(0));
    Ok(())
}

#[test]
fn hup_opens_the_log_file_of_all_again_and_usr1_is_logged_and_ignored_swarm_08_log_15() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (path, rotated) = (folder.path().join("log"), folder.path().join("log.1"));
    let mut swarm = Swarm::start(Release::new()?, 2, &["-L", path.to_str().ok_or("path")?], &[])?;
    let text = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    swarm.reach("all are ready", |_| text(&path).matches("is ready").count() == 2)?;
    std::fs::rename(&path, &rotated)?;
    swarm.process.signal("HUP")?;
    swarm
        .reach("all write to the new file", |_| text(&path).matches("reopened the log file").count() == 3)?;
    swarm.process.signal("USR1")?;
    swarm.reach("it is logged", |_| text(&path).contains("WARN: ignored the signal USR1"))?;
    swarm.process.signal("TTIN")?;
    swarm.reach("both tell", |_| text(&path).matches("slots are busy").count() == 2)?;
    assert_eq!(swarm.stop()?, Some(0));
    // Nothing is lost at the end.
    assert_eq!(text(&path).matches("INFO: stopped").count(), 2);
    assert!(text(&path).trim_end().ends_with("INFO: the swarm has stopped"), "{}", text(&path));
    assert!(!text(&rotated).contains("stopped"));
    Ok(())
}

#[test]
fn a_swarm_logs_json_as_its_workers_do() -> TestResult {
    let mut swarm = Swarm::ready(1, &["--log-format", "json"], &[])?;
    swarm.push("FailJob", "[\"no luck\"]", "j1")?;
    swarm.push("GreetingJob", "[\"world\"]", "j2")?;
    swarm.reach("both are over", |it| it.processed() == 1 && !it.logged("no luck").is_empty())?;
    assert_eq!(swarm.stop()?, Some(0));
    let lines = swarm.process.log();
    let parsed: Vec<serde_json::Value> =
        lines.iter().map(|line| serde_json::from_str(line)).collect::<Result<_, _>>()?;
    let failed = parsed.iter().find(|it| it["jid"] == "j1").ok_or("no line of the job")?;
    assert_eq!((&failed["class"], &failed["queue"]), (&"FailJob".into(), &"default".into()));
    let hello = parsed.iter().find(|it| it["message"] == "Hello, world!").ok_or("no greeting")?;
    assert_eq!(
        (&hello["jid"], &hello["class"], &hello["queue"]),
        (&"j2".into(), &"GreetingJob".into(), &"default".into())
    );
    assert!(failed["duration_s"].is_f64() && failed["level"] == "WARN", "{failed}");
    assert!(parsed.iter().any(|it| it["pid"] == swarm.process.pid()));
    Ok(())
}

#[test]
fn what_is_wrong_ends_the_swarm_with_code_2_within_a_second_and_leaves_no_trace_p_59() -> TestResult {
    let redis = TestRedis::start()?;
    let release = Release::new()?;
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<String, Box<dyn std::error::Error>> {
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path.to_str().ok_or("path")?.to_owned())
    };
    let (unknown, wrong) =
        (file("unknown.yml", "concurency: 5\n")?, file("wrong.yml", "concurrency: many\n")?);
    let empty = file("empty.yml", "")?;
    for (flags, vars, parts) in [
        (&["-C", "/none.yml"][..], &[][..], &["/none.yml"][..]),
        (&["-C", &unknown], &[], &["unknown.yml", "concurency"]),
        (&["-C", &wrong], &[], &["wrong.yml", "concurrency", "many"]),
        (&["-C", &empty, "-c", "none"], &[], &["none"]),
        (&[], &[("COGWORKER_COUNT", "none")], &["COGWORKER_COUNT", "none"]),
        (&["-L", "/none/log"], &[], &["/none/log"]),
    ] {
        let start = Instant::now();
        let mut command = command(&release, flags);
        let output = command.env("REDIS_URL", redis.url()).envs(vars.iter().copied()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(start.elapsed() < Duration::from_secs(1), "{flags:?}");
        assert!(parts.iter().all(|part| said.contains(part)), "{flags:?}: {said}");
    }
    assert_eq!(redis.command(&["DBSIZE"])?.as_int(), Some(0));
    Ok(())
}

#[test]
fn flags_win_over_variables_and_those_over_the_file_in_each_worker_p_59() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("c.yml");
    std::fs::write(&path, "concurrency: 2\nqueues: [low]\nshutdown_timeout: 7\n")?;
    let flags = ["-C", path.to_str().ok_or("path")?, "-c", "4"];
    let vars = [("COGWORKER_CONCURRENCY", "3"), ("COGWORKER_QUEUES", "default")];
    let mut swarm = Swarm::ready(2, &flags, &vars)?;
    assert_eq!(swarm.logged("is working on default with 4 slots").len(), 2);
    assert_eq!(swarm.stop()?, Some(0));
    assert_eq!(swarm.logged("running jobs have 7 s to finish").len(), 2);
    Ok(())
}
