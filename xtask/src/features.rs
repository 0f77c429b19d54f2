//! `cargo xtask features`: every feature of the published crates builds by itself, and without the others.

use crate::step::{Step, TaskError};
use crate::tools::Tool;
use crate::workspace;

const STEP: &str = "features";
const HACK: Tool = Tool {
    package: "cargo-hack",
    version: "0.6.46",
    asked: &["hack", "--version"],
    says: "cargo-hack 0.6.",
    args: &[],
};

pub(crate) fn run() -> Result<(), TaskError> {
    let hack = HACK.ensure(STEP)?;
    // Warnings too: an item that only one feature uses is unused without it. Dev-dependencies switch nothing on here,
    // since no test is built.
    let args = ["hack", "check", "--each-feature", "--lib", "--bins", "--quiet"];
    let mut step = Step::program(STEP, &hack, &args).env("RUSTFLAGS", "-D warnings");
    for package in workspace::published(STEP)? {
        step = step.arg("--package").arg(package.name);
    }
    // With flags of its own, so that it does not build the other steps' dependencies anew.
    step.arg("--target-dir").arg(workspace::target().join("features").display().to_string()).run()
}
