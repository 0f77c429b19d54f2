//! `cargo xtask deny`: the licences, origins and known defects of the dependencies, by cargo-deny and `deny.toml`.

use crate::step::{Step, TaskError};
use crate::tools::Tool;

const STEP: &str = "deny";
const DENY: Tool = Tool {
    package: "cargo-deny",
    version: "0.20.2",
    asked: &["--version"],
    says: "cargo-deny 0.",
    // Without its own build of git: the one of the machine fetches the advisories.
    args: &["--no-default-features"],
};

pub(crate) fn run() -> Result<(), TaskError> {
    let deny = DENY.ensure(STEP)?;
    // Two versions of one crate are listed in the lock file, and here in pages of trees.
    let check = ["--all-features", "check", "--allow", "duplicate"];
    Step::program(STEP, &deny, &[check.as_slice(), &["licenses", "bans", "sources"]].concat()).run()?;
    // What is known today and was not yesterday: on a machine without a way to the list it cannot be said.
    if !Step::program(STEP, &deny, &["fetch", "db"]).succeeds() {
        println!("\n!!! The dependencies' advisories are NOT CHECKED: their list could not be fetched !!!");
        return Ok(());
    }
    Step::program(STEP, &deny, &["--all-features", "check", "--disable-fetch", "advisories"]).run()
}
