//! `cogworker -r PATH …`: becomes the worker.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::Failure;

/// What a folder's worker is called.
const WORKER: &str = "worker";

/// The flags, of workers and of this program, whose value is the next argument.
const WITH_VALUE: [&str; 12] = [
    "-C",
    "--config",
    "-c",
    "--concurrency",
    "-q",
    "--queue",
    "-L",
    "--logfile",
    "--health-bind",
    "-e",
    "--environment",
    "--redis-url",
];

/// The path after `-r`, when it stands before any command: then all arguments are the worker's, whatever they are.
pub(crate) fn asked_for(args: &[OsString]) -> Option<PathBuf> {
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
        if WITH_VALUE.iter().any(|flag| arg == flag) {
            args.next();
        }
    }
    None
}

/// The program that `-r` means: the file itself, or `worker` in the folder.
pub(crate) fn program(path: &Path) -> Result<PathBuf, Failure> {
    let wrong = |path: &Path, found: &str| {
        let path = path.display();
        Failure::Usage(format!(
            "-r: expected a worker's program or the folder that it is in, found {found}: {path}"
        ))
    };
    if path.as_os_str().is_empty() {
        return Err(wrong(path, "nothing"));
    }
    let program = if path.is_dir() { path.join(WORKER) } else { path.to_owned() };
    let file = match std::fs::metadata(&program) {
        Ok(file) => file,
        Err(_) if program != path => return Err(wrong(path, "a folder without `worker`")),
        Err(error) => return Err(wrong(path, &error.to_string())),
    };
    if !file.is_file() || file.permissions().mode() & 0o111 == 0 {
        return Err(wrong(&program, "what is no program"));
    }
    // A bare name would be searched on PATH.
    std::path::absolute(&program).map_err(|error| wrong(&program, &error.to_string()))
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
