//! Other job systems, made ready to be measured. What they run is in `bench/peers`, and so is why they are set up as
//! they are.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::debian;

/// Another job system in one of its modes.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    /// What its program's `--mode` is.
    pub(crate) mode: &'static str,
    pub(crate) at_least_once: bool,
    /// What a kill lost or ran twice, measured by `bench/peers/kill9.py`.
    pub(crate) loses: &'static str,
    pub(crate) command: Vec<OsString>,
}

/// A job system that cannot be measured here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) name: &'static str,
    pub(crate) reason: String,
}

/// A mode of a system: its name, whether it is at-least-once, what it loses.
type Mode = (&'static str, bool, &'static str);

/// BRPOP takes a job out of Redis before it runs.
const LOSES_RUNNING: Mode = ("default", false, "every job that was running (10 of 10)");
const APALIS_SAFE: Mode = ("safe", true, "nothing; 40 ran twice; back after 5 min");
const APALIS_DEFAULT: Mode = ("default", true, "nothing; back after 5 min");
const BULLMQ_SAFE: Mode = ("safe", true, "nothing; at most 1 ran twice; back after 1 min");
const BULLMQ_DEFAULT: Mode = ("default", true, "nothing; back after 1.5 min");
const CEILING_ONLY: Mode = ("safe", true, "nothing: it runs no jobs");

const RUSTY_SIDEKIQ: &str = "rusty-sidekiq";
const APALIS: &str = "apalis";
const BULLMQ: &str = "bullmq";
const SIDEKIQ: &str = "sidekiq";
const ASYNQ: &str = "asynq";
/// No job system: the same bytes moved in Redis without any job.
const CEILING: &str = "ceiling";

/// Builds and installs what can be, below `root`, the workspace's folder.
pub(crate) fn install(root: &Path) -> Vec<Result<Peer, Skipped>> {
    let folder = root.join("bench/peers");
    let mut found = Vec::new();
    let built = build(&folder);
    for (name, modes) in [
        (RUSTY_SIDEKIQ, &[LOSES_RUNNING][..]),
        (APALIS, &[APALIS_SAFE, APALIS_DEFAULT]),
        (CEILING, &[CEILING_ONLY]),
    ] {
        let program = folder.join("target/release").join(format!("peer-{name}"));
        let command = built.clone().map(|()| vec![program.into_os_string()]);
        found.extend(peers(name, modes, command));
    }
    found.extend(peers(BULLMQ, &[BULLMQ_SAFE, BULLMQ_DEFAULT], bullmq(&folder.join(BULLMQ))));
    found.extend(peers(SIDEKIQ, &[LOSES_RUNNING], sidekiq(&folder.join(SIDEKIQ))));
    found.push(Err(Skipped {
        name: ASYNQ,
        reason: "Debian has no package of it, and building it needs the Go module proxy".to_owned(),
    }));
    found
}

/// One peer for each mode, or one word on why there is none.
fn peers(
    name: &'static str,
    modes: &[Mode],
    command: Result<Vec<OsString>, String>,
) -> Vec<Result<Peer, Skipped>> {
    let ready = command.and_then(|command| Ok((version(&command)?, command)));
    match ready {
        Err(reason) => vec![Err(Skipped { name, reason })],
        Ok((version, command)) => modes
            .iter()
            .map(|&(mode, at_least_once, loses)| {
                let (version, command) = (version.clone(), command.clone());
                Ok(Peer { name, version, mode, at_least_once, loses, command })
            })
            .collect(),
    }
}

/// The systems in Rust, and the ceiling.
fn build(folder: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // A target folder of its own, whatever the caller's is.
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--target-dir", "target"]).current_dir(folder);
    run("bench/peers", command)
}

fn bullmq(folder: &Path) -> Result<Vec<OsString>, String> {
    for program in ["node", "npm"] {
        if !debian::is_program(program) {
            return Err(format!("find {program}: it is not on PATH"));
        }
    }
    // Without the packages' own install scripts: the one there is fetches a faster decoder that BullMQ does not need.
    let mut command = Command::new("npm");
    command
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"])
        .current_dir(folder);
    run("bench/peers/bullmq", command)?;
    Ok(vec!["node".into(), folder.join("bench.js").into_os_string()])
}

fn sidekiq(folder: &Path) -> Result<Vec<OsString>, String> {
    let program = folder.join("bench.rb");
    let command = |options: &[&str]| -> Vec<OsString> {
        let options = options.iter().map(OsString::from);
        ["ruby".into()].into_iter().chain(options).chain([program.clone().into_os_string()]).collect()
    };
    if version(&command(&[])).is_err() {
        debian::install(&["ruby-sidekiq", "ruby-hiredis"])?;
        version(&command(&[]))?;
    }
    // Not every Ruby has the compiler.
    let compiled = command(&["--yjit"]);
    Ok(if version(&compiled).is_ok() { compiled } else { command(&[]) })
}

/// What a peer's program says of itself.
fn version(command: &[OsString]) -> Result<String, String> {
    let [program, args @ ..] = command else { return Err("ask for the version: no program".to_owned()) };
    let output = Command::new(program).args(args).arg("version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| cannot_run(program, &error))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("ask for the version: {}", why.lines().next().unwrap_or("it failed")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Shows a command and runs it.
fn run(folder: &str, mut command: Command) -> Result<(), String> {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let shown = format!("{name} {}", args.join(" "));
    println!("\n$ cd {folder} && {shown}");
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| cannot_run(program.as_os_str(), &error))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} ended with {status}")) }
}

fn cannot_run(program: &OsStr, error: &io::Error) -> String {
    format!("run {}: {error}", program.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Mode; 2] = [("safe", true, "nothing"), ("default", false, "something")];

    #[test]
    fn each_mode_of_a_system_is_a_peer() {
        let found = peers("echo", &BOTH, Ok(vec!["echo".into(), "1.2.3".into()]));
        let found: Vec<Peer> = found.into_iter().map(Result::unwrap).collect();
        assert_eq!(found.iter().map(|peer| peer.mode).collect::<Vec<_>>(), ["safe", "default"]);
        assert!(found.iter().all(|peer| peer.version == "1.2.3 version"), "{found:?}");
        assert!(found[0].at_least_once && !found[1].at_least_once);
    }

    #[test]
    fn a_system_that_does_not_run_is_skipped_once_and_says_why() {
        let found = peers("nothing", &BOTH, Ok(vec!["no-such-program".into()]));
        let [Err(skipped)] = &found[..] else { panic!("{found:?}") };
        assert!(skipped.reason.starts_with("run no-such-program: "), "{skipped:?}");
        let found = peers("unbuilt", &BOTH, Err("cargo build ended with exit status: 101".into()));
        let [Err(skipped)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(skipped.reason, "cargo build ended with exit status: 101");
    }
}
