//! The command line of a worker, and the first step of its `main`.

mod args;
#[doc(hidden)]
pub mod environment;
mod report;
mod usage_error;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

#[doc(hidden)]
pub use self::args::Cli;
pub use self::usage_error::UsageError;
use crate::config::{self, Config, EnvVars, Flags, LoadError, Sources};
use crate::exit_code;

/// A configuration and where each part of it came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// Checked and complete.
    pub config: Config,
    /// Where each setting came from.
    pub sources: Sources,
    /// Whether `--print-config` asks for a [`report`](Self::report) in place of a run.
    pub print_config: bool,
}

impl Loaded {
    /// Each setting with its source, one a line, in YAML; passwords are shown as `***`.
    pub fn report(&self) -> String {
        report::report(&self.config, &self.sources)
    }
}

/// Why a worker does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// The flags are wrong, or ask for help or the version.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The configuration is wrong.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl CliError {
    /// The [exit code](exit_code) of a process that ends for this reason.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(error) if error.is_answer() => exit_code::CLEAN,
            Self::Usage(_) | Self::Load(_) => exit_code::CONFIGURATION,
        }
    }
}

/// Loads the configuration: defaults, then the file, the environment and the flags (P-59).
///
/// Nothing but the arguments is read: `args` starts with the program's name, and relative paths
/// are taken from `cwd`. The file sees the chosen environment in `APP_ENV`, `RAILS_ENV` and `RACK_ENV`
/// (CONF-10, CONF-11).
///
/// ```
/// use cogworker_server::{cli, config::EnvVars};
///
/// let env: EnvVars = [("COGWORKER_CONCURRENCY", "5")].into_iter().collect();
/// let loaded = cli::load(["worker", "-q", "default,3", "-q", "low"], &env, ".".as_ref())?;
/// assert_eq!(loaded.config.concurrency, 5);
/// assert_eq!(loaded.config.queues, ["default", "default", "default", "low"]);
/// # Ok::<(), cli::CliError>(())
/// ```
///
/// # Errors
///
/// When the flags, a variable or the file is wrong, or the flags ask for help or the version.
pub fn load(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    env: &EnvVars,
    cwd: &Path,
) -> Result<Loaded, CliError> {
    load_parsed(Cli::try_parse_from(args).map_err(UsageError::new)?, env, cwd)
}

fn load_parsed(cli: Cli, env: &EnvVars, cwd: &Path) -> Result<Loaded, CliError> {
    let (name, source) = environment::resolve(cli.environment.as_deref(), env)?;
    let mut env = env.clone();
    for (var, value) in environment::exports(&env, &name) {
        env.set(var, &value);
    }
    let print_config = cli.print_config;
    let flags = Flags {
        config: cli.config,
        concurrency: cli.concurrency,
        queues: cli.queues,
        logfile: cli.logfile,
        log_format: cli.log_format,
        health_bind: cli.health_bind,
        environment: (name, source),
    };
    let (config, sources) = config::load(&flags, &env, cwd)?;
    Ok(Loaded { config, sources, print_config })
}

/// The first step of a worker's `main`: loads the configuration of this process.
///
/// When `APP_ENV`, `RAILS_ENV` and `RACK_ENV` do not all name the chosen environment, the program
/// [replaces itself](environment::export) once with them set, so call this before anything else. Help, the
/// version, `--print-config` and errors are printed here; the process should then end with the code in `Err`.
///
/// # Errors
///
/// The exit code with which the process should end.
pub fn start() -> Result<Loaded, ExitCode> {
    start_as::<Cli>().map(|(_, loaded)| loaded)
}

/// As [`start`], for a program with further flags.
///
/// # Errors
///
/// As for [`start`].
#[doc(hidden)]
pub fn start_as<P: Parser + AsRef<Cli>>() -> Result<(P, Loaded), ExitCode> {
    let env = EnvVars::from_process();
    let parsed = P::try_parse_from(std::env::args_os()).map_err(UsageError::new);
    let outcome = parsed.map_err(CliError::from).and_then(|flags| {
        let cli = flags.as_ref().clone();
        if !cli.print_config {
            let (name, _) = environment::resolve(cli.environment.as_deref(), &env)?;
            if let Err(error) = environment::export(&env, &name) {
                return Ok(Err(format!("failed to start again with the environment {name}: {error}")));
            }
        }
        let cwd = std::env::current_dir().unwrap_or_default();
        load_parsed(cli, &env, &cwd).map(|loaded| Ok((flags, loaded)))
    });
    // A closed stream is no reason to panic: the exit code still tells.
    let to_stderr = |line: &dyn std::fmt::Display| {
        let _ = writeln!(std::io::stderr(), "cogworker: {line}");
    };
    match outcome {
        Ok(Ok((_, loaded))) if loaded.print_config => {
            let _ = std::io::stdout().write_all(loaded.report().as_bytes());
            Err(exit_code::CLEAN.into())
        }
        Ok(Ok(started)) => Ok(started),
        Ok(Err(message)) => {
            to_stderr(&message);
            Err(exit_code::FAILURE.into())
        }
        Err(error) => {
            match &error {
                CliError::Usage(usage) => usage.print(),
                CliError::Load(load) => to_stderr(load),
            }
            Err(error.exit_code().into())
        }
    }
}

/// The flags as clap knows them, for completions and manual pages.
#[doc(hidden)]
pub fn command() -> clap::Command {
    Cli::command()
}
