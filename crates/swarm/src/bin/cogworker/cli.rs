//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::connection::Place;
#[cfg(feature = "web")]
use crate::web;
use crate::{cron, dev, exit, jobs, processes, push, queue, status, watch};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "cogworker",
    version,
    about = "Runs a Cogworker worker, and looks after its jobs",
    override_usage = "cogworker -r PATH [WORKER FLAGS]\n       cogworker [OPTIONS] <COMMAND>",
    after_help = exit::HELP,
    arg_required_else_help = true,
    subcommand_required = true
)]
pub(crate) struct Cli {
    /// Run this worker, or the `worker` in this folder, with all flags as they are given
    #[arg(short, long, value_name = "PATH")]
    pub(crate) require: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: Options,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What holds for every command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) place: Place,

    /// Write each thing as one line of JSON
    #[arg(long, global = true, help_heading = "Options of every command")]
    pub(crate) json: bool,

    /// Do it without asking
    #[arg(short, long, global = true, help_heading = "Options of every command")]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the counters and sizes
    Stats,
    /// Show every queue
    Queues,
    /// Look at a queue, pause it, empty it
    Queue(queue::Options),
    /// Look at what is scheduled, to be retried or dead; try it now, delete it
    Jobs(jobs::Options),
    /// Push a job
    Push(push::Options),
    /// Show the running worker processes
    Processes,
    /// Tell processes to take no further jobs
    Quiet(processes::Who),
    /// Tell quiet processes to take jobs again
    Resume(processes::Who),
    /// Tell processes to finish their jobs and exit
    Stop(processes::Who),
    /// Look at the periodic jobs, run one now, switch one off and on
    Cron(cron::Options),
    /// Show what a job is doing, and its failed attempts
    Status(status::Options),
    /// Show it all, again and again
    Watch(watch::Options),
    /// Serve the web UI
    #[cfg(feature = "web")]
    Web(web::Options),
    /// Run a Redis of its own and the UI, and a worker with -r; Ctrl-C ends them all
    Dev(dev::Options),
    /// Check Redis, the workers and the queues, and say what to do
    Doctor,
    /// Print a script that completes this program's commands in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_page_on_it_names_every_command_and_flag() {
        const PAGE: &str = include_str!("../../../../../docs/cli.md");
        fn check(command: &clap::Command) {
            for flag in command.get_arguments().filter_map(|flag| flag.get_long()) {
                let is_known = ["help", "version", "require"].contains(&flag);
                assert!(
                    is_known || PAGE.contains(&format!("--{flag}")),
                    "--{flag} of {}",
                    command.get_name()
                );
            }
            for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
                let name = inner.get_name();
                assert!(PAGE.contains(&format!("`{name}")) || PAGE.contains(&format!(" {name}")), "{name}");
                check(inner);
            }
        }
        check(&Cli::command());
    }
}
