//! `cargo xtask lint`: clippy on every target, warnings being errors.

use crate::step::{Step, TaskError};

pub(crate) fn run() -> Result<(), TaskError> {
    Step::cargo("lint", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()?;
    // Off by default; the recipe of that name needs it, and its feature switches on the server's.
    let packages = ["clippy", "--package", "cogworker-server", "--package", "recipes", "--all-targets"];
    let otel = ["--features", "cogworker-server/otel,recipes/otel", "--", "-D", "warnings"];
    Step::cargo("lint otel", &[packages.as_slice(), &otel].concat()).run()
}
