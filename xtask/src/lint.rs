//! `cargo xtask lint`: clippy on every target, warnings being errors.

use crate::step::{Step, TaskError};

pub(crate) fn run() -> Result<(), TaskError> {
    Step::cargo("lint", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()?;
    let otel = ["clippy", "--package", "cogworker-server", "--features", "otel", "--all-targets"];
    Step::cargo("lint otel", &[otel.as_slice(), &["--", "-D", "warnings"]].concat()).run()
}
