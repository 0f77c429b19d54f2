//! Fetching a server program: the commands that do it.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fetch_error::FetchError;

/// How much of a failed command's output an error shows.
const SHOWN_OUTPUT: usize = 2_000;

/// How long a program may be busy after it was written.
const BUSY_DEADLINE: Duration = Duration::from_secs(5);

/// Runs a command to its end; one that fails is an error which shows what it wrote.
///
/// # Errors
/// When it cannot be run, or fails.
pub fn run(command: &mut Command) -> Result<Output, FetchError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = output(command).map_err(|source| FetchError::Run { command: name.clone(), source })?;
    if output.status.success() {
        return Ok(output);
    }
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let written = String::from_utf8_lossy(&output.stderr);
    let skipped = written.chars().count().saturating_sub(SHOWN_OUTPUT);
    let shown: String = written.chars().skip(skipped).collect();
    Err(FetchError::Failed { command: format!("{name} {}", args.join(" ")), output: shown.trim().to_owned() })
}

/// A program written this moment is "busy" while another thread's new process still holds our file descriptors.
fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null());
    let mut outcome = command.output();
    let busy = |outcome: &io::Result<Output>| {
        outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ExecutableFileBusy)
    };
    let deadline = Instant::now() + BUSY_DEADLINE;
    while busy(&outcome) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
        outcome = command.output();
    }
    outcome
}

/// Says which file or folder could not be written.
pub fn write_error(path: &Path) -> impl FnOnce(io::Error) -> FetchError + use<> {
    let path = path.to_owned();
    move |source| FetchError::Write { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_shown_with_what_it_wrote() {
        let error = run(Command::new("sh").args(["-c", "echo no such package >&2; exit 100"])).unwrap_err();
        assert!(error.to_string().ends_with(": no such package"), "{error}");
    }
}
