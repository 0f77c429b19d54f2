//! A swarm of example workers, and what can be seen of it from outside.

use std::collections::BTreeSet;
use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cogworker_testing::{RespValue, TestRedis, WorkerProcess, wait_until};
use tempfile::TempDir;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

pub(crate) const SWARM: &str = env!("CARGO_BIN_EXE_cogworkerswarm");

/// Long enough for a slow machine; never waited out by a test that passes.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// The example worker, which is built together with the swarm; a narrow build may have left it out.
pub(crate) fn example_worker() -> PathBuf {
    let program = Path::new(SWARM).with_file_name("example-worker");
    if !program.exists() {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "example-worker", "--bin", "example-worker"])
            .status();
        assert!(built.is_ok_and(|status| status.success()), "failed to build the example worker");
    }
    program
}

/// A folder whose `worker` can be replaced, as a deployment does.
pub(crate) struct Release {
    folder: TempDir,
}

impl Release {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let release = Self { folder: tempfile::tempdir()? };
        release.deploy_worker()?;
        Ok(release)
    }

    pub(crate) fn of_script(script: &str) -> Result<Self, Box<dyn Error>> {
        let release = Self { folder: tempfile::tempdir()? };
        release.deploy_script(script)?;
        Ok(release)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn next(&self) -> PathBuf {
        self.folder().join("worker.next")
    }

    /// A fresh copy of the example worker: another file.
    pub(crate) fn deploy_worker(&self) -> TestResult {
        std::fs::copy(example_worker(), self.next())?;
        self.deploy_next()
    }

    /// In it `$WORKER` is the example worker.
    pub(crate) fn deploy_script(&self, script: &str) -> TestResult {
        let text = format!("#!/bin/sh\nWORKER='{}'\n{script}\n", example_worker().display());
        std::fs::write(self.next(), text)?;
        std::fs::set_permissions(self.next(), std::fs::Permissions::from_mode(0o755))?;
        self.deploy_next()
    }

    fn deploy_next(&self) -> TestResult {
        Ok(std::fs::rename(self.next(), self.folder().join("worker"))?)
    }

    /// Whether a process runs what is deployed now.
    pub(crate) fn runs_newest(&self, pid: u32) -> bool {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.folder().join("worker"))
    }
}

pub(crate) struct Swarm {
    pub(crate) process: WorkerProcess,
    pub(crate) redis: TestRedis,
    pub(crate) release: Release,
    count: usize,
}

impl Swarm {
    pub(crate) fn start(
        release: Release,
        count: usize,
        flags: &[&str],
        vars: &[(&str, &str)],
    ) -> Result<Self, Box<dyn Error>> {
        let redis = TestRedis::start()?;
        let mut command = command(&release, flags);
        command.env("REDIS_URL", redis.url()).env("COGWORKER_COUNT", count.to_string());
        command.envs(vars.iter().copied());
        Ok(Self { process: WorkerProcess::spawn_command(command)?, redis, release, count })
    }

    /// One whose workers are all ready.
    pub(crate) fn ready(count: usize, flags: &[&str], vars: &[(&str, &str)]) -> Result<Self, Box<dyn Error>> {
        let swarm = Self::start(Release::new()?, count, flags, vars)?;
        swarm.all_ready()?;
        Ok(swarm)
    }

    pub(crate) fn all_ready(&self) -> TestResult {
        self.reach("all workers are ready", |it| it.logged("is ready").len() >= it.count)
    }

    pub(crate) fn logged(&self, text: &str) -> Vec<String> {
        self.process.log().into_iter().filter(|line| line.contains(text)).collect()
    }

    /// The processes that the swarm started and that are alive, in order of their ids; the dead that were not
    /// cleared away are none.
    pub(crate) fn workers(&self) -> BTreeSet<u32> {
        children(self.process.pid()).into_iter().filter(|pid| is_alive(*pid)).collect()
    }

    pub(crate) fn identities(&self) -> BTreeSet<String> {
        self.texts(&["SMEMBERS", "cogworker:processes"]).into_iter().collect()
    }

    pub(crate) fn identity_of(&self, pid: u32) -> Option<String> {
        self.identities().into_iter().find(|identity| identity.contains(&format!(":{pid}:")))
    }

    pub(crate) fn reach(&self, what: &str, mut reached: impl FnMut(&Self) -> bool) -> TestResult {
        if wait_until(SOON, || reached(self)) {
            return Ok(());
        }
        Err(format!("not reached: {what}; the log:\n{}", self.process.log().join("\n")).into())
    }

    pub(crate) fn push(&self, class: &str, args: &str, jid: &str) -> TestResult {
        let job = format!(r#"{{"class":"{class}","args":{args},"queue":"default","jid":"{jid}"}}"#);
        match self.redis.command(&["LPUSH", "cogworker:queue:default", &job])? {
            RespValue::Error(text) => Err(text.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn int(&self, args: &[&str]) -> i64 {
        let number = |value: RespValue| value.as_int().or_else(|| value.as_str()?.parse().ok());
        self.redis.command(args).ok().and_then(number).unwrap_or(0)
    }

    pub(crate) fn texts(&self, args: &[&str]) -> Vec<String> {
        self.redis.command(args).map(|value| value.strings()).unwrap_or_default()
    }

    pub(crate) fn processed(&self) -> i64 {
        self.int(&["GET", "cogworker:stats:processed"])
    }

    /// How many jobs the process holds.
    pub(crate) fn held(&self, identity: &str) -> i64 {
        self.int(&["LLEN", &format!("cogworker:inprogress:{identity}")])
    }

    /// How many jobs the process shows as running.
    pub(crate) fn running(&self, identity: &str) -> i64 {
        self.int(&["HLEN", &format!("cogworker:workers:{identity}")])
    }

    pub(crate) fn stop(&mut self) -> Result<Option<i32>, Box<dyn Error>> {
        self.process.signal("TERM")?;
        Ok(self.process.wait(SOON)?.code())
    }
}

/// The swarm's command without settings of the machine that would change what it does.
pub(crate) fn command(release: &Release, flags: &[&str]) -> Command {
    let mut command = Command::new(SWARM);
    command.arg("-r").arg(release.folder()).args(flags).env("RUST_LOG", "info");
    for name in ["APP_ENV", "RAILS_ENV", "RACK_ENV", "PHASED_RESTART", "NOTIFY_SOCKET", "WATCHDOG_USEC"] {
        command.env_remove(name);
    }
    command
}

/// What a process started and has not waited for.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Neither gone nor waiting to be cleared away.
pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub(crate) fn kill(pid: u32, signal: &str) -> TestResult {
    Ok(cogworker_testing::send_signal(pid, signal)?)
}
