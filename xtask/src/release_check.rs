//! `cargo xtask release-check`: what `test` leaves to the day of a release, since it takes its time.

use std::time::Instant;

use clap::Args;

use crate::step::TaskError;
use crate::{api, deny, features, msrv, package};

#[derive(Args)]
pub(crate) struct Options {
    /// Take changes that are not committed too
    #[arg(long)]
    allow_dirty: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), TaskError> {
    let start = Instant::now();
    deny::run()?;
    msrv::run()?;
    api::run(&api::Options::default())?;
    features::run()?;
    package::run(&package::Options { install: true, allow_dirty: options.allow_dirty })?;
    println!(
        "\nready for a release, but for what lines with !!! name, in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
