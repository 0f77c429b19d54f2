//! `cargo xtask msrv`: whether the oldest Rust that the crates name will do.
//!
//! That no newer part of the standard library is used is clippy's `incompatible_msrv`, in `lint`.

use std::process::Command;

use serde_json::Value;

use crate::step::{self, Step, TaskError};
use crate::workspace;

const STEP: &str = "msrv";

pub(crate) fn run() -> Result<(), TaskError> {
    step::announce(STEP);
    let packages = workspace::published(STEP)?;
    let oldest = packages.first().and_then(workspace::Package::rust_version).unwrap_or_default().to_owned();
    let metadata = Step::cargo(STEP, &["metadata", "--all-features", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| TaskError::Task { step: STEP, source: error.into() })?;
    step::conclude(STEP, newer(&metadata, &oldest))?;
    println!("every dependency says that it builds with Rust {oldest}, or an older one, or nothing");

    let toolchain = format!("+{oldest}");
    let is_there = Command::new("rustup").args(["run", &oldest, "cargo", "--version"]).output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        println!(
            "\n!!! NOT BUILT with Rust {oldest}, which is not installed: rustup toolchain install {oldest} !!!"
        );
        return Ok(());
    }
    // By rustup's cargo, which knows `+`; the one that runs this task is that of a toolchain.
    let args = [&toolchain, "check", "--all-features", "--locked", "--lib", "--bins"];
    let mut check = Step::program(STEP, "cargo".as_ref(), &args);
    for package in packages {
        check = check.arg("--package").arg(package.name);
    }
    check.arg("--target-dir").arg(workspace::target().join("msrv").display().to_string()).run()
}

/// Dependencies that ask for a newer Rust.
fn newer(metadata: &Value, oldest: &str) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = packages.iter().filter_map(|package| Some((package, package["rust_version"].as_str()?)));
    asked
        .filter(|(_, version)| parts(version) > parts(oldest))
        .map(|(package, version)| {
            format!("{} {} needs Rust {version}", text(&package["name"]), text(&package["version"]))
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `1.90` as `[1, 90, 0]`.
fn parts(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_needs_a_newer_rust_is_found() {
        let package =
            |name: &str, rust| serde_json::json!({ "name": name, "version": "1.0.0", "rust_version": rust });
        let metadata = serde_json::json!({ "packages": [
            package("old", Some("1.9")), package("same", Some("1.90.0")), package("mute", None),
            package("new", Some("1.90.1")), package("newer", Some("1.100")),
        ] });
        let expected = ["new 1.0.0 needs Rust 1.90.1", "newer 1.0.0 needs Rust 1.100"];
        assert_eq!(newer(&metadata, "1.90"), expected);
    }
}
