//! The flags.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::NonEmptyStringValueParser;

use crate::config::WeightedQueue;

/// The flags of a worker (CONF-07, CONF-08).
#[derive(Clone, Debug, Parser)]
#[command(
    name = "cogworker",
    version,
    about = "Runs background jobs",
    after_help = "Exit codes: 0 stopped as asked, 1 failure, 2 wrong flags or configuration."
)]
#[non_exhaustive]
pub struct Cli {
    /// Accepted so that the flags of `cogworkerswarm` work here too; a worker ignores it
    #[arg(short, long, value_name = "PATH")]
    pub require: Option<PathBuf>,

    /// Read the settings from this YAML file
    #[arg(short = 'C', long, value_name = "PATH")]
    pub config: Option<PathBuf>,

    /// Run this many jobs at the same time
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub concurrency: Option<u64>,

    /// Work on this queue; can be repeated, a larger weight is asked first more often
    #[arg(short, long = "queue", value_name = "NAME[,WEIGHT]")]
    pub queues: Vec<WeightedQueue>,

    /// Write the log to this file
    #[arg(short = 'L', long, value_name = "PATH")]
    pub logfile: Option<PathBuf>,

    /// Answer health checks over HTTP here: /live, /ready and /health
    #[arg(long, value_name = "ADDR")]
    pub health_bind: Option<String>,

    /// The environment; by default APP_ENV, RAILS_ENV, RACK_ENV or development
    #[arg(short, long, value_name = "ENV", value_parser = NonEmptyStringValueParser::new())]
    pub environment: Option<String>,

    /// Print each setting and where it came from, then stop
    #[arg(long)]
    pub print_config: bool,
}
