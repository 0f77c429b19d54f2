//! The flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use clap::builder::NonEmptyStringValueParser;

use crate::config::{Key, Mismatch, WeightedQueue};

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
    /// The worker's executable, or the folder that it is in: for cogworkerswarm; a worker ignores it
    #[arg(short, long, value_name = "PATH")]
    pub require: Option<PathBuf>,

    /// Read the settings from this YAML file
    #[arg(short = 'C', long, value_name = "PATH")]
    pub config: Option<PathBuf>,

    /// Run this many jobs at the same time
    #[arg(short, long, value_name = "N", value_parser = concurrency)]
    pub concurrency: Option<u64>,

    /// Work on this queue; can be repeated, a larger weight is asked first more often
    #[arg(short, long = "queue", value_name = "NAME[,WEIGHT]", value_parser = WeightedQueue::from_flag)]
    pub queues: Vec<WeightedQueue>,

    /// Write the log to this file
    #[arg(short = 'L', long, value_name = "PATH")]
    pub logfile: Option<PathBuf>,

    /// How the log is written: text or json
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,

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

/// As in the file and the variable.
fn concurrency(text: &str) -> Result<u64, Mismatch> {
    Key::Concurrency.read_whole(text)
}

impl AsRef<Self> for Cli {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Cli {
    /// The flags that lead to these values, for a worker that is started with them.
    pub fn to_args(&self) -> Vec<OsString> {
        // Taken apart, so that a new flag cannot be forgotten here.
        let Self {
            require: _,
            config,
            concurrency,
            queues,
            logfile,
            log_format,
            health_bind,
            environment,
            print_config: _,
        } = self;
        let mut args = Vec::new();
        let mut flag = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                let mut arg = OsString::from(name);
                arg.push("=");
                arg.push(value);
                args.push(arg);
            }
        };
        flag("--config", config.clone().map(Into::into));
        flag("--concurrency", concurrency.map(|jobs| jobs.to_string().into()));
        queues.iter().for_each(|queue| flag("--queue", Some(queue.to_string().into())));
        flag("--logfile", logfile.clone().map(Into::into));
        flag("--log-format", log_format.clone().map(Into::into));
        flag("--health-bind", health_bind.clone().map(Into::into));
        flag("--environment", environment.clone().map(Into::into));
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_made_of_flags_say_the_same() {
        let flags = [
            "worker",
            "-r",
            "app",
            "-C",
            "a b.yml",
            "-c",
            "3",
            "-q",
            "low",
            "-q",
            "a=b,5",
            "-L",
            "x.log",
            "--log-format",
            "json",
            "--health-bind",
            "[::]:0",
            "-e",
            "production",
        ];
        let once = Cli::parse_from(flags);
        let twice = Cli::parse_from([OsString::from("worker")].into_iter().chain(once.to_args()));
        assert_eq!(format!("{twice:?}"), format!("{once:?}").replace("Some(\"app\")", "None"));
        assert_eq!(Cli::parse_from(["worker"]).to_args(), [""; 0]);
    }
}
