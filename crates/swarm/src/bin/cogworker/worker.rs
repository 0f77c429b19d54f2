//! `cogworker -r PATH …`: becomes the worker.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::Failure;

/// The path after `-r`, when it stands before any command: then all arguments are the worker's, whatever they are.
pub(crate) fn asked_for(args: &[OsString]) -> Option<PathBuf> {
    let with_value = flags_with_value();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let bytes = arg.as_bytes();
        if arg == "-r" || arg == "--require" {
            return Some(args.next().map(PathBuf::from).unwrap_or_default());
        }
        if let Some(path) = bytes.strip_prefix(b"--require=").or_else(|| bytes.strip_prefix(b"-r")) {
            return Some(PathBuf::from(OsStr::from_bytes(path.strip_prefix(b"=").unwrap_or(path))));
        }
        if !bytes.starts_with(b"-") || arg == "--" {
            return None;
        }
        if with_value.iter().any(|flag| arg == flag.as_str()) {
            args.next();
        }
    }
    None
}

/// The flags, of workers and of this program, whose value is the next argument.
fn flags_with_value() -> Vec<String> {
    let (worker, own) = (cogworker_server::cli::command(), Cli::command());
    let all = worker.get_arguments().chain(own.get_arguments());
    let valued = all.filter(|flag| flag.get_action().takes_values());
    let spelt = valued.flat_map(|flag| {
        let short = flag.get_short().map(|short| format!("-{short}"));
        [short, flag.get_long().map(|long| format!("--{long}"))].into_iter().flatten().collect::<Vec<_>>()
    });
    spelt.collect()
}

/// The program that `-r` means: the file itself, or `worker` in the folder.
pub(crate) fn program(path: &Path) -> Result<PathBuf, Failure> {
    cogworker_swarm::program(path).map_err(|error| Failure::Usage(error.to_string()))
}

/// Becomes the worker: the same process, so that signals and exit codes are its own. Returns only when that fails.
pub(crate) fn exec(path: &Path, args: &[OsString]) -> Failure {
    match program(path) {
        Ok(program) => {
            let error = Command::new(&program).args(args).exec();
            Failure::Failed(format!("failed to run {}: {error}", program.display()))
        }
        Err(failure) => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_in(line: &str) -> Option<PathBuf> {
        asked_for(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_worker_is_meant_by_r_before_any_command() {
        for line in [
            "-r ./w",
            "-r./w -q low",
            "--require ./w",
            "--require=./w",
            "-r=./w",
            "-c 5 -C x.yml -r ./w",
            "--flag -r ./w",
        ] {
            assert_eq!(path_in(line), Some("./w".into()), "{line}");
        }
        for line in ["dev -r ./w", "--redis-url x dev -r ./w", "stats", "-c 5", "", "-- -r w", "--json"] {
            assert_eq!(path_in(line), None, "{line}");
        }
        assert_eq!(path_in("-r"), Some(PathBuf::new()));
    }
}
