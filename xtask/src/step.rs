//! One step of a task: a command that is shown, run, and named when it fails.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use cogworker_testing::{RedisBinaryError, TestRedisError};

use crate::workspace;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    #[error("{step} failed: {command} ended with {status}")]
    Command { step: &'static str, command: String, status: ExitStatus },
    #[error("{step} failed: could not run {command}")]
    Run {
        step: &'static str,
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("{step} failed:\n{}", list(.findings))]
    Findings { step: &'static str, findings: Vec<String> },
    #[error("read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no Redis server to test against")]
    RedisBinary(#[from] RedisBinaryError),
    #[error("the Redis server failed")]
    Redis(#[from] TestRedisError),
    #[error("{step} failed")]
    Task {
        step: &'static str,
        #[source]
        source: Box<dyn std::error::Error>,
    },
    #[error("the Redis server ended by itself; its log:\n{0}")]
    RedisEnded(String),
}

fn list(findings: &[String]) -> String {
    findings.iter().map(|finding| format!("  {finding}")).collect::<Vec<_>>().join("\n")
}

/// A command of a task.
pub(crate) struct Step {
    name: &'static str,
    /// `None` for cargo.
    program: Option<PathBuf>,
    args: Vec<String>,
    /// `None` for the workspace's.
    folder: Option<PathBuf>,
    environment: Vec<(&'static str, OsString)>,
}

impl Step {
    pub(crate) fn cargo(name: &'static str, args: &[&str]) -> Self {
        Self { name, program: None, args: owned(args), folder: None, environment: Vec::new() }
    }

    /// Another program, such as one of [`crate::tools`].
    pub(crate) fn program(name: &'static str, program: &Path, args: &[&str]) -> Self {
        Self {
            name,
            program: Some(program.to_owned()),
            args: owned(args),
            folder: None,
            environment: Vec::new(),
        }
    }

    /// Where it runs.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Shows the command, runs it with its output passed through, and waits.
    pub(crate) fn run(&self) -> Result<(), TaskError> {
        let shown = self.shown();
        println!("\n$ {shown}");
        let status = self.command().status();
        let status =
            status.map_err(|source| TaskError::Run { step: self.name, command: shown.clone(), source })?;
        if status.success() {
            return Ok(());
        }
        Err(TaskError::Command { step: self.name, command: shown, status })
    }

    /// Whether the command succeeds; shows nothing.
    pub(crate) fn succeeds(&self) -> bool {
        let status = self.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// Runs the command, shows nothing but its errors, and returns what it printed.
    pub(crate) fn output(&self) -> Result<String, TaskError> {
        let output = self.command().stderr(Stdio::inherit()).output();
        let output =
            output.map_err(|source| TaskError::Run { step: self.name, command: self.shown(), source })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(TaskError::Command { step: self.name, command: self.shown(), status: output.status })
    }

    fn command(&self) -> Command {
        // The cargo that runs this task, so that a toolchain chosen by the caller holds for every step.
        let program = self.program.clone().or_else(|| env::var_os("CARGO").map(PathBuf::from));
        let mut command = Command::new(program.unwrap_or_else(|| "cargo".into()));
        command.args(&self.args).envs(self.environment.iter().cloned());
        command.current_dir(self.folder.clone().unwrap_or_else(workspace::root));
        // Set by `cargo run` for this program alone; handed on, it would make crates look changed.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// The command as it would be typed.
    fn shown(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        for (name, value) in &self.environment {
            let value = value.to_string_lossy();
            let quote = if value.contains(' ') { "'" } else { "" };
            words.push(format!("{name}={quote}{value}{quote}"));
        }
        if let Some(folder) = &self.folder {
            words.insert(0, format!("cd {} &&", folder.display()));
        }
        words.push(self.program.as_ref().map_or("cargo".to_owned(), |program| program.display().to_string()));
        words.extend(self.args.iter().cloned());
        words.join(" ")
    }
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

/// Names a check that runs inside this program, as [`Step::run`] does with a command.
pub(crate) fn announce(task: &str) {
    println!("\n$ cargo xtask {task}");
}

/// Succeeds when nothing was found.
pub(crate) fn conclude(step: &'static str, findings: Vec<String>) -> Result<(), TaskError> {
    if findings.is_empty() { Ok(()) } else { Err(TaskError::Findings { step, findings }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_typed_again() {
        let step = Step::cargo("docs", &["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(step.shown(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_failed_command_names_its_step() {
        let step = Step::cargo("the step", &["no-such-subcommand-of-cargo"]);
        assert!(!step.succeeds());
        let error = step.run().unwrap_err().to_string();
        assert!(
            error.starts_with("the step failed: cargo no-such-subcommand-of-cargo ended with"),
            "{error}"
        );
    }

    #[test]
    fn findings_make_a_failure_and_none_a_success() {
        assert!(conclude("docs-check", vec![]).is_ok());
        let error = conclude("docs-check", vec!["a".into(), "b".into()]).unwrap_err();
        assert_eq!(error.to_string(), "docs-check failed:\n  a\n  b");
    }
}
