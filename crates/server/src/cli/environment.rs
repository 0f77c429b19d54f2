//! The name of the environment, and its export.
//!
//! The gem exports `-e` as `APP_ENV`, `RAILS_ENV` and `RACK_ENV` before anything of the app is loaded
//! (CONF-10, CONF-11). A Rust program cannot safely change its own environment, as other threads may
//! be reading it. So the program replaces itself, once, by a copy of itself that starts with the right
//! variables: same process id, same flags, same open files.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::config::{EnvVars, Key, LoadError, Mismatch, Source, check_environment};

/// The variables that name the environment; the first that is set decides.
pub const VARS: [&str; 3] = ["APP_ENV", "RAILS_ENV", "RACK_ENV"];

/// The environment when nothing names one.
pub const DEFAULT: &str = "development";

/// Chooses the environment: the flag, else the first of [`VARS`] that is set, else [`DEFAULT`].
///
/// # Errors
///
/// When the name is empty, too long or has spaces in it.
pub fn resolve(flag: Option<&str>, env: &EnvVars) -> Result<(String, Source), LoadError> {
    let (name, at) = match flag {
        Some(name) => (Ok(name), Source::Flag { flag: "--environment".into() }),
        None => match VARS.into_iter().find_map(|var| Some((var, env.get(var)?))) {
            Some((var, value)) => {
                let name = value.to_str().ok_or_else(|| Mismatch::new("unicode text", "other bytes"));
                (name, Source::Env { var: var.into() })
            }
            None => return Ok((DEFAULT.into(), Source::Default)),
        },
    };
    match name.and_then(|name| check_environment(name).map(|()| name.to_owned())) {
        Ok(name) => Ok((name, at)),
        Err(mismatch) => Err(LoadError::invalid(at, Key::Environment.name(), mismatch)),
    }
}

/// The variables that have to change for all three to name the environment `name`.
pub fn exports(env: &EnvVars, name: &str) -> Vec<(&'static str, String)> {
    VARS.into_iter()
        .filter(|var| env.get(var).is_none_or(|value| value != name))
        .map(|var| (var, name.to_owned()))
        .collect()
}

/// Makes sure that this process runs with all three variables naming the environment `name`; `env` is
/// its environment now.
///
/// Returns only if nothing has to change, or on failure: otherwise the program starts again from `main`.
/// It must not have written, opened or started anything yet.
///
/// # Errors
///
/// When the system cannot start the program again.
pub fn export(env: &EnvVars, name: &str) -> io::Result<()> {
    let exports = exports(env, name);
    if exports.is_empty() {
        return Ok(());
    }
    let mut args = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(program) = args.next() {
        command.arg0(program);
    }
    Err(command.args(args).envs(exports).exec())
}
