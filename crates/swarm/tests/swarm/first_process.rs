//! A swarm as the first process of a container.

use std::process::Command;
use std::time::Duration;

use cogworker_testing::{TestRedis, WorkerProcess, wait_until};

use crate::support::{Release, SOON, SWARM, TestResult, children, kill, state};

/// Needs root, or users' namespaces.
fn unshare() -> Option<Vec<&'static str>> {
    [
        &["--pid", "--fork", "--kill-child"][..],
        &["--user", "--map-root-user", "--pid", "--fork", "--kill-child"],
    ]
    .into_iter()
    .find(|flags| {
        let status = Command::new("unshare").args(*flags).arg("true").output();
        status.is_ok_and(|output| output.status.success())
    })
    .map(<[_]>::to_vec)
}

#[test]
fn as_the_first_process_it_clears_away_strangers_and_restarts_nobody_for_them_p_44() -> TestResult {
    let Some(flags) = unshare() else {
        eprintln!("SKIPPED: no pid namespace can be had here (unshare needs root or users' namespaces)");
        return Ok(());
    };
    let redis = TestRedis::start()?;
    // Twenty processes that lose their parent at once, and one that becomes a zombie of the worker.
    let release = Release::of_script(
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (sleep 0.3 &); done\n\
         sleep 0.1 &\nexec \"$WORKER\" \"$@\"",
    )?;
    let mut command = Command::new("unshare");
    command.args(flags).arg(SWARM).arg("-r").arg(release.folder());
    command
        .env("REDIS_URL", redis.url())
        .env("COGWORKER_COUNT", "2")
        .env("RUST_LOG", "info,cogworker_swarm=debug");
    let mut process = WorkerProcess::spawn_command(command)?;
    process.wait_for_log("swarm 1 runs 2 workers", SOON)?;
    let swarm = *children(process.pid()).first().ok_or("no swarm")?;
    let log = |text: &str| process.log().iter().filter(|line| line.contains(text)).count();
    assert!(wait_until(SOON, || log("is ready") == 2), "{:?}", process.log());
    assert!(wait_until(SOON, || log("cleared away process") == 40), "{:?}", process.log());
    let mine = children(swarm);
    assert_eq!(mine.len(), 2, "{mine:?}");
    assert!(mine.iter().all(|pid| state(*pid) != Some('Z')));
    // A worker that dies leaves its zombie, and is itself replaced.
    kill(mine[0], "KILL")?;
    assert!(wait_until(SOON, || log("is ready") == 3), "{:?}", process.log());
    assert!(wait_until(SOON, || log("cleared away process") == 61), "{:?}", process.log());
    assert_eq!((log("ended"), log("starts in place")), (1, 3), "{:?}", process.log());
    assert!(wait_until(Duration::from_secs(5), || children(swarm).len() == 2));
    // To the swarm itself: the program that made the namespace does not pass signals on.
    kill(swarm, "TERM")?;
    assert_eq!(process.wait(SOON)?.code(), Some(0));
    Ok(())
}
