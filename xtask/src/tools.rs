//! Programs from other packages that tasks run: taken from `PATH`, else built in `target/tools`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::step::TaskError;
use crate::workspace;

/// A program, named as its package.
pub(crate) struct Tool {
    pub(crate) package: &'static str,
    /// What is installed where none is found.
    pub(crate) version: &'static str,
    /// What asks it for its version.
    pub(crate) asked: &'static [&'static str],
    /// How the answer begins: any of this series will do.
    pub(crate) says: &'static str,
    /// Further arguments of `cargo install`.
    pub(crate) args: &'static [&'static str],
}

impl Tool {
    /// The program for a task that cannot go on without.
    pub(crate) fn ensure(&self, step: &'static str) -> Result<PathBuf, TaskError> {
        self.find_or_install().map_err(|why| TaskError::Task { step, source: why.into() })
    }

    /// The program, or why it cannot be had.
    pub(crate) fn find_or_install(&self) -> Result<PathBuf, String> {
        let tools = workspace::target().join("tools");
        let own = tools.join("bin").join(self.package);
        if let Some(found) = [PathBuf::from(self.package), own.clone()].into_iter().find(|at| self.is_at(at))
        {
            return Ok(found);
        }
        let Self { package, version, .. } = self;
        // Unoptimised: it is built once and runs for seconds.
        let mut args = vec!["install", package, "--version", version, "--locked", "--debug"];
        args.extend(self.args);
        println!("$ cargo {} --root {}", args.join(" "), tools.display());
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(args)
            .arg("--root")
            .arg(&tools)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env_remove("CARGO_TARGET_DIR")
            .current_dir(env::temp_dir()) // not under this workspace's settings
            .stdin(Stdio::null())
            .status();
        let status = status.map_err(|error| format!("install {package} {version}: {error}"))?;
        if status.success() && self.is_at(&own) {
            Ok(own)
        } else {
            Err(format!("install {package} {version}: cargo install ended with {status}"))
        }
    }

    fn is_at(&self, program: &Path) -> bool {
        let said = Command::new(program).args(self.asked).output();
        said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).starts_with(self.says))
    }
}
