//! The flags of a worker executable.

use std::path::PathBuf;

use clap::Parser;

use crate::config::parse_queue_flag;

/// The flags of a worker; the same ones that `cogworker` and `cogworkerswarm` take.
#[derive(Debug, Clone, Default, Parser)]
#[command(
    version,
    about = "Runs background jobs from Redis.",
    after_help = "Exit codes: 0 after a clean stop, 1 after a failure, 2 for a wrong flag or configuration.\n\
                  Signals: TERM and INT stop gracefully, TSTP stops taking jobs, TTIN logs what is running, \
                  HUP reopens the log file."
)]
#[non_exhaustive]
pub struct Flags {
    /// The worker executable; for `cogworker` and `cogworkerswarm`, a worker itself ignores it
    #[arg(short = 'r', long = "require", value_name = "PATH")]
    pub require: Option<PathBuf>,

    /// YAML configuration file
    #[arg(short = 'C', long = "config", value_name = "PATH")]
    pub config: Option<PathBuf>,

    /// How many jobs run at a time [default: 10]
    #[arg(short = 'c', long = "concurrency", value_name = "N")]
    pub concurrency: Option<u64>,

    /// A queue to read, with an optional weight; may be repeated [default: default]
    #[arg(short = 'q', long = "queue", value_name = "NAME[,WEIGHT]", value_parser = queue_flag)]
    pub queues: Vec<QueueFlag>,

    /// Write the log to this file
    #[arg(short = 'L', long = "logfile", value_name = "PATH")]
    pub logfile: Option<PathBuf>,

    /// The environment's name, exported as APP_ENV, RAILS_ENV and RACK_ENV
    #[arg(short = 'e', long = "environment", value_name = "NAME")]
    pub environment: Option<String>,

    /// Print each setting and where it came from, and exit
    #[arg(long)]
    pub print_config: bool,
}

/// One `-q`: the queue's name, as often as its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueFlag(pub Vec<String>);

fn queue_flag(text: &str) -> Result<QueueFlag, String> {
    parse_queue_flag(text).map(QueueFlag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_do_not_clash() {
        Flags::command().debug_assert();
    }
}
