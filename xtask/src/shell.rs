//! Running other programs, each shown before it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// Runs cargo in the workspace's folder.
pub(crate) fn cargo(args: &[&str]) -> Outcome {
    cargo_with(args, &[])
}

/// Like [`cargo`], with further environment variables.
pub(crate) fn cargo_with(args: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let shown: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value:?} ")).collect();
    println!("\n$ {}cargo {}", shown.concat(), args.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(cargo).args(args).envs(variables.iter().copied()).current_dir(root()).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("run cargo {}: it ended with {status}", args.join(" ")).into())
    }
}

/// Where cargo puts executables of a profile (`debug` or `release`).
pub(crate) fn executable(profile: &str, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(profile).join(name)
}
