//! `cogworker -r …` and `cogworker dev`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use cogworker_testing::{Resp, WorkerProcess};

use crate::support::{Outcome, program, ran};

const SOON: Duration = Duration::from_secs(20);

/// A folder with a script as its worker.
fn app(script: &str) -> Result<tempfile::TempDir, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    write(&folder.path().join("worker"), script, 0o755)?;
    Ok(folder)
}

fn write(path: &Path, script: &str, mode: u32) -> Outcome {
    // Under another name first: a program that is written to cannot be run, not even by a fork of this process.
    let new = path.with_extension("new");
    fs::write(&new, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&new, fs::Permissions::from_mode(mode))?;
    fs::rename(new, path)?;
    Ok(())
}

#[test]
fn r_becomes_the_worker_with_every_flag_as_it_was_given() -> Outcome {
    let app = app(r#"echo "$$"; for arg; do echo "<$arg>"; done; exit 7"#)?;
    let worker = app.path().join("worker");
    let (file, folder) = (worker.to_str().ok_or("path")?, app.path().to_str().ok_or("path")?);
    for args in [
        &["-r", file, "-q", "a b,2", "--own-flag", "", "stats"][..],
        &["-r", folder],
        &["-c", "5", "--require", folder, "-C", "x.yml"],
    ] {
        let run = program(args).stdout(std::process::Stdio::piped()).spawn()?;
        let pid = run.id();
        let output = run.wait_with_output()?;
        let expected: String = args.iter().map(|arg| format!("<{arg}>\n")).collect();
        assert_eq!(String::from_utf8(output.stdout)?, format!("{pid}\n{expected}"), "the same process");
        assert_eq!(output.status.code(), Some(7));
    }
    let relative = ran(program(["-r", "./worker"]).current_dir(app.path()))?;
    assert_eq!(relative.code, 7, "{relative:?}");
    let here = ran(program(["-r", "worker"]).current_dir(app.path()))?;
    assert_eq!(here.code, 7, "a bare name is a path: {here:?}");
    Ok(())
}

#[test]
fn a_worker_that_is_none_is_a_usage_error_that_names_it() -> Outcome {
    let empty = tempfile::tempdir()?;
    write(&empty.path().join("text"), "", 0o644)?;
    for (path, said) in [
        (empty.path().to_owned(), "nothing"),
        (empty.path().join("none"), "nothing"),
        (empty.path().join("text"), "a file that may not be executed"),
    ] {
        let named = if path.is_dir() { path.join("worker") } else { path.clone() };
        let said = format!("cogworker: -r: expected an executable file, found {said}: {}", named.display());
        for args in [&["-r"][..], &["dev", "-r"]] {
            ran(program(args).arg(&path))?.failed(2, &said);
        }
    }
    let broken = app("")?;
    fs::write(broken.path().join("worker"), "#!/nowhere\n")?;
    let broken = ran(program(["-r"]).arg(broken.path()))?;
    assert!(broken.code == 1 && broken.err.contains("failed to run /"), "{broken:?}");
    Ok(())
}

const UNTIL_TERM: &str = r#"echo "pid $$"; trap 'echo "told to stop"; exit 0' TERM; trap 'echo "interrupted"; exit 9' INT
echo "up at $REDIS_URL with $*"; while :; do sleep 0.05; done"#;

/// The development site, and its Redis's address.
fn dev(args: &[&str], app: &Path) -> Result<(WorkerProcess, String), Box<dyn std::error::Error>> {
    let mut command = program(["dev", "-r"]);
    command.arg(app).args(args);
    // Somebody's own Redis is not touched.
    command.env("REDIS_URL", "redis://127.0.0.1:1");
    let site = WorkerProcess::spawn_command(command)?;
    let line = site.wait_for_log("up at ", SOON)?;
    let url = line.strip_prefix("up at ").and_then(|rest| rest.split(' ').next()).ok_or("no url")?;
    Ok((site, url.to_owned()))
}

fn port(url: &str) -> u16 {
    url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
}

fn answers(url: &str) -> bool {
    let redis = Resp::tcp(port(url), Duration::from_secs(2));
    redis.is_ok_and(|mut redis| redis.command(&["PING"]).is_ok_and(|pong| pong == "PONG"))
}

#[test]
fn dev_runs_a_worker_on_a_redis_of_its_own_and_ends_both() -> Outcome {
    for signal in ["INT", "TERM"] {
        let app = app(UNTIL_TERM)?;
        let (mut site, url) = dev(&["-q", "low", "--own", "x"], app.path())?;
        site.wait_for_log("with -q low --own x", SOON)?;
        site.wait_for_log(&format!("Elsewhere: export REDIS_URL={url}"), SOON)?;
        assert!(answers(&url) && !url.ends_with(":1"), "{url}");
        if cfg!(feature = "web") {
            let told = site.wait_for_log("UI: http://", SOON)?;
            let address = told.trim_start_matches("UI: http://").trim_end_matches('/');
            std::net::TcpStream::connect(address)?;
        }
        let stats = ran(program(["stats"]).env("REDIS_URL", &url))?;
        assert_eq!(stats.code, 0, "{stats:?}");
        site.signal(signal)?;
        assert_eq!(site.wait(SOON)?.code(), Some(0), "{:?}", site.log());
        assert!(site.log().contains(&"told to stop".to_owned()), "{:?}", site.log());
        assert!(!answers(&url), "the server is gone");
    }
    Ok(())
}

#[test]
fn dev_without_a_worker_is_a_redis_until_somebody_ends_it() -> Outcome {
    let mut command = program(["dev"]);
    command.env("REDIS_URL", "redis://127.0.0.1:1");
    let mut site = WorkerProcess::spawn_command(command)?;
    let line = site.wait_for_log("Elsewhere: export REDIS_URL=", SOON)?;
    let url = line.trim_start_matches("Elsewhere: export REDIS_URL=");
    assert!(answers(url), "{url}");
    site.signal("INT")?;
    assert_eq!(site.wait(SOON)?.code(), Some(0), "{:?}", site.log());
    assert!(!answers(url), "the server is gone");
    let flags = ran(&mut program(["dev", "-q", "mail"]))?;
    flags.failed(2, "cogworker: -q is for a worker: it needs -r PATH");
    let mut lost = WorkerProcess::spawn_command(program(["dev"]))?;
    let line = lost.wait_for_log("Elsewhere: export REDIS_URL=", SOON)?;
    let url = line.trim_start_matches("Elsewhere: export REDIS_URL=");
    let _ = Resp::tcp(port(url), SOON)?.command(&["SHUTDOWN", "NOSAVE"]);
    assert_eq!(lost.wait(SOON)?.code(), Some(1), "{:?}", lost.log());
    Ok(())
}

#[test]
fn dev_ends_with_its_worker_and_tells_how_that_ended() -> Outcome {
    let app = app("echo \"up at $REDIS_URL with\"; exit 3")?;
    let (mut site, url) = dev(&[], app.path())?;
    assert_eq!(site.wait(SOON)?.code(), Some(1));
    assert!(
        site.log().contains(&"cogworker: the worker ended with exit status: 3".to_owned()),
        "{:?}",
        site.log()
    );
    assert!(!answers(&url));
    Ok(())
}

#[test]
fn dev_stops_the_worker_when_its_redis_is_gone_and_kills_it_when_asked_twice() -> Outcome {
    let lost = app(UNTIL_TERM)?;
    let (mut site, url) = dev(&[], lost.path())?;
    let _ = Resp::tcp(port(&url), SOON)?.command(&["SHUTDOWN", "NOSAVE"]);
    assert_eq!(site.wait(SOON)?.code(), Some(1));
    assert!(
        site.log().iter().any(|line| line.starts_with("cogworker: redis ended with ")),
        "{:?}",
        site.log()
    );
    let stubborn = app("trap 'echo no' TERM; echo \"up at $REDIS_URL with\"; while :; do sleep 0.05; done")?;
    let (mut site, url) = dev(&[], stubborn.path())?;
    site.signal("INT")?;
    site.wait_for_log("no", SOON)?;
    site.signal("INT")?;
    assert_eq!(site.wait(SOON)?.code(), Some(1));
    assert!(!answers(&url));
    Ok(())
}

#[test]
fn what_dev_started_goes_also_when_it_is_killed() -> Outcome {
    let app = app(UNTIL_TERM)?;
    let (mut site, url) = dev(&[], app.path())?;
    let line = site.wait_for_log("pid ", SOON)?;
    let worker = Path::new("/proc").join(line.trim_start_matches("pid "));
    assert!(worker.exists(), "{line}");
    site.kill();
    assert!(cogworker_testing::wait_until(SOON, || !answers(&url)), "the server is gone");
    let is_gone = || fs::read_to_string(worker.join("stat")).map_or(true, |stat| stat.contains(") Z "));
    assert!(cogworker_testing::wait_until(SOON, is_gone), "the worker is gone");
    Ok(())
}

#[test]
fn dev_takes_a_port_or_somebody_elses_redis() -> Outcome {
    let app = app(UNTIL_TERM)?;
    let theirs = cogworker_testing::TestRedis::start()?;
    let (mut site, url) = dev(&["--redis-url", &theirs.url()], app.path())?;
    assert_eq!(url, theirs.url());
    site.signal("INT")?;
    assert_eq!(site.wait(SOON)?.code(), Some(0));
    assert!(answers(&url), "not ours to end");
    let path = app.path().to_str().ok_or("path")?;
    let port = theirs.port().to_string();
    ran(&mut program(["dev", "-r", path, "--port", &port]))?
        .failed(1, &format!("cogworker: failed to start redis on port {port}: the port is in use"));
    let both = ran(&mut program(["dev", "-r", path, "--port", "9", "--redis-url", &url]))?;
    assert!(both.code == 2 && both.err.contains("--port is for a private Redis"), "{both:?}");
    Ok(())
}
