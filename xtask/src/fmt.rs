//! `cargo xtask fmt`: formats the code.

use clap::Args;

use crate::step::{Step, TaskError};

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Change nothing; fail when something would change
    #[arg(long)]
    pub(crate) check: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), TaskError> {
    let args: &[_] = if options.check { &["fmt", "--all", "--check"] } else { &["fmt", "--all"] };
    Step::cargo("fmt", args).run()
}
