//! The flags and variables of `cogworkerswarm`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use cogworker_server::cli::Cli;

use crate::Swarm;

const COUNT_VAR: &str = "COGWORKER_COUNT";
const PHASED_VAR: &str = "PHASED_RESTART";
const MEMORY_VAR: &str = "COGWORKER_MEMORY_LIMIT";
const BOOT_VAR: &str = "COGWORKER_BOOT_TIMEOUT";

/// What `-r DIR` means.
const PROGRAM: &str = "worker";

/// The flags of a worker, which the workers get, and those of the swarm.
#[derive(Debug, Parser)]
#[command(
    name = "cogworkerswarm",
    version,
    about = "Runs several workers of an application, and replaces those that die",
    after_help = "Flags win over variables.\n\
                  Signals: TERM and INT stop, USR2 restarts, TSTP takes no more jobs, HUP opens the log file again.\n\
                  Exit codes: 0 stopped as asked, 1 failure, 2 wrong flags or configuration."
)]
pub(crate) struct SwarmArgs {
    #[command(flatten)]
    worker: Cli,

    /// Run this many workers [variable: COGWORKER_COUNT] [default: one for each core]
    #[arg(long, value_name = "N")]
    count: Option<OsString>,

    /// On USR2 replace one worker after the other, each when the next is ready [variable: PHASED_RESTART]
    #[arg(long)]
    phased_restart: bool,

    /// Replace a worker that takes more memory (resident, in 1024² bytes; Linux only) [variable: COGWORKER_MEMORY_LIMIT]
    #[arg(long, value_name = "MB")]
    memory_limit: Option<OsString>,

    /// Give a restart up whose worker is not ready after so long [variable: COGWORKER_BOOT_TIMEOUT] [default: 300]
    #[arg(long, value_name = "SECONDS")]
    boot_timeout: Option<OsString>,
}

impl AsRef<Cli> for SwarmArgs {
    fn as_ref(&self) -> &Cli {
        &self.worker
    }
}

/// A flag or variable that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
    /// It holds something else than it may.
    #[error("{place}: expected {expected}, found {found:?}")]
    Value {
        /// The flag or variable.
        place: &'static str,
        /// What it may hold.
        expected: &'static str,
        /// What it holds.
        found: OsString,
    },
    /// No `-r`.
    #[error("-r: expected the worker's executable, or the folder that it is in, found none")]
    NoProgram,
    /// `-r` leads to no worker.
    #[error("-r: expected an executable file, found {why}: {path}", path = path.display())]
    Program {
        /// Where a worker's executable should be.
        path: PathBuf,
        /// What is there.
        why: &'static str,
    },
}

impl SwarmArgs {
    /// The swarm that these flags and the variables describe.
    pub(crate) fn swarm(&self, var: impl Fn(&str) -> Option<OsString>) -> Result<Swarm, ArgsError> {
        let path = self.worker.require.as_deref().ok_or(ArgsError::NoProgram)?;
        let swarm = Swarm::new(program(path)?).args(self.worker.to_args());
        self.settings(swarm, var)
    }

    fn settings(&self, swarm: Swarm, var: impl Fn(&str) -> Option<OsString>) -> Result<Swarm, ArgsError> {
        let set = |flag: &Option<OsString>, flag_name, var_name| {
            let flag = flag.clone().map(|value| (flag_name, value));
            flag.or_else(|| Some((var_name, var(var_name).filter(|value| !value.is_empty())?)))
        };
        let mut swarm = swarm;
        if let Some((place, value)) = set(&self.count, "--count", COUNT_VAR) {
            swarm = swarm.count(whole(place, &value, "a number of workers from 1 to 1000", 1_000)?);
        }
        if let Some((place, value)) = set(&self.memory_limit, "--memory-limit", MEMORY_VAR) {
            let megabytes = whole(place, &value, "megabytes from 1 to 100000000", 100_000_000)?;
            swarm = swarm.memory_limit(megabytes as u64);
        }
        if let Some((place, value)) = set(&self.boot_timeout, "--boot-timeout", BOOT_VAR) {
            let seconds = whole(place, &value, "whole seconds from 1 to 86400", 86_400)?;
            swarm = swarm.boot_timeout(Duration::from_secs(seconds as u64));
        }
        let phased = match set(&None, "", PHASED_VAR) {
            _ if self.phased_restart => true,
            None => false,
            Some((place, value)) => match value.to_str().map(str::to_ascii_lowercase).as_deref() {
                Some("true" | "yes" | "on" | "1") => true,
                Some("false" | "no" | "off" | "0") => false,
                _ => return Err(ArgsError::Value { place, expected: "true or false", found: value }),
            },
        };
        Ok(swarm.phased_restart(phased))
    }
}

fn whole(
    place: &'static str,
    value: &OsStr,
    expected: &'static str,
    most: usize,
) -> Result<usize, ArgsError> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.filter(|number| (1..=most).contains(number)).ok_or_else(|| ArgsError::Value {
        place,
        expected,
        found: value.to_owned(),
    })
}

/// The executable that `-r` names. Symbolic links stay: a deployment moves them to the next release.
///
/// # Errors
/// When there is none.
pub fn program(path: &Path) -> Result<PathBuf, ArgsError> {
    use std::os::unix::fs::PermissionsExt;

    if path.as_os_str().is_empty() {
        return Err(ArgsError::NoProgram);
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = if path.is_dir() { path.join(PROGRAM) } else { path };
    let why = match path.metadata() {
        Err(_) => "nothing",
        Ok(found) if found.is_dir() => "a folder",
        Ok(found) if found.permissions().mode() & 0o111 == 0 => "a file that may not be executed",
        Ok(_) => return Ok(path),
    };
    Err(ArgsError::Program { path, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swarm(flags: &[&str], vars: &[(&str, &str)]) -> Result<Swarm, String> {
        let flags = ["cogworkerswarm", "-r", "/bin/sh"].iter().chain(flags);
        let args = SwarmArgs::try_parse_from(flags).map_err(|error| error.to_string())?;
        let var = |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| value.into());
        args.swarm(var).map_err(|error| error.to_string())
    }

    #[test]
    fn the_variables_of_the_gem_are_understood_swarm_02() {
        let swarm = swarm(&[], &[("COGWORKER_COUNT", "3"), ("PHASED_RESTART", "true")]).unwrap();
        assert_eq!((swarm.rules.count, swarm.rules.phased), (3, true));
        assert_eq!(swarm.program, Path::new("/bin/sh"));
    }

    #[test]
    fn flags_win_over_variables_and_empty_ones_count_as_none() {
        let flags =
            ["--count", "2", "--memory-limit", "7", "--boot-timeout", "9", "--phased-restart", "-c", "5"];
        let vars = [("COGWORKER_COUNT", "x"), ("COGWORKER_MEMORY_LIMIT", "x"), ("PHASED_RESTART", "x")];
        let swarm_of_flags = swarm(&flags, &vars).unwrap();
        let rules = swarm_of_flags.rules;
        assert_eq!((rules.count, rules.phased, rules.memory_limit_kb), (2, true, Some(7 * 1024)));
        assert_eq!(rules.boot_limit, Duration::from_secs(9));
        assert_eq!(swarm_of_flags.args, ["--concurrency=5"]);
        assert!(swarm(&[], &[("COGWORKER_COUNT", "")]).unwrap().rules.count >= 1);
    }

    #[test]
    fn wrong_values_are_refused_with_place_expectation_and_finding() {
        let count = "expected a number of workers from 1 to 1000, found";
        for (flags, vars, message) in [
            (&[][..], &[("COGWORKER_COUNT", "0")][..], format!("COGWORKER_COUNT: {count} \"0\"")),
            (&["--count", "many"], &[], format!("--count: {count} \"many\"")),
            (
                &[],
                &[("PHASED_RESTART", "maybe")],
                "PHASED_RESTART: expected true or false, found \"maybe\"".into(),
            ),
        ] {
            assert_eq!(swarm(flags, vars).unwrap_err(), message);
        }
    }

    #[test]
    fn what_r_names_must_be_there_and_executable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(PROGRAM);
        let found = || program(folder.path()).map_err(|error| error.to_string());
        let expected = "-r: expected an executable file, found";
        assert_eq!(found().unwrap_err(), format!("{expected} nothing: {}", file.display()));
        std::fs::write(&file, "").unwrap();
        let message = format!("{expected} a file that may not be executed: {}", file.display());
        assert_eq!(found().unwrap_err(), message);
        std::os::unix::fs::symlink("/bin/sh", folder.path().join("link")).unwrap();
        let link = folder.path().join("link");
        assert_eq!(program(&link).unwrap(), link);
    }
}
