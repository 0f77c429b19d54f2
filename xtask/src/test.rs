//! Every check and every test.

use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use cogworker_testing::redis_binary::{RedisBinary, VARIABLE};

use crate::shell::{cargo, cargo_with};
use crate::{Outcome, docs_check, lua_check};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only the tests, without formatting, lints and docs
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(options: &Options) -> Outcome {
    let begun = Instant::now();
    let redis = RedisBinary::resolve()?;
    println!("Redis: {}", redis.server.display());
    let server = redis.server.display().to_string();
    let variables = [(VARIABLE, server.as_str())];
    if !options.fast {
        cargo(&["fmt", "--all", "--check"])?;
        lua_check::run()?;
        docs_check::run()?;
        lint()?;
    }
    // Black-box tests start the example worker, wherever they live.
    cargo(&["build", "--workspace", "--bins"])?;
    if has_nextest() {
        cargo_with(&["nextest", "run", "--workspace"], &variables)?;
    } else {
        cargo_with(&["test", "--workspace", "--lib", "--bins", "--tests"], &variables)?;
    }
    cargo_with(&["test", "--workspace", "--doc"], &variables)?;
    if !options.fast {
        cargo_with(&["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    }
    println!("\nAll checks and tests passed in {} s.", begun.elapsed().as_secs());
    Ok(())
}

pub(crate) fn lint() -> Outcome {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn has_nextest() -> bool {
    Command::new("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
