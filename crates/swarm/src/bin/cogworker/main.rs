//! `cogworker`: runs one worker, and is the operator's way to queues, jobs and processes.
//!
//! One module for each noun of the command line: it has the noun's flags (`Options`) and a `run`, which finds all it
//! needs by the client's API and writes to an [`Output`]. A command that needs another library goes the same way,
//! behind a feature of its own. The exit codes stand in [`exit`].

mod cli;
mod confirm;
mod connection;
mod cron;
mod dev;
mod doctor;
mod exit;
mod job_line;
mod jobs;
mod output;
mod processes;
mod progress;
mod push;
mod queue;
mod stats;
mod status;
mod table;
mod text;
mod watch;
#[cfg(feature = "web")]
mod web;
mod worker;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use cogworker_client::Control;

use cli::{Cli, Command, Options};
use connection::Connection;
use exit::{Failure, Outcome};
use output::Output;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(path) = worker::asked_for(args.get(1..).unwrap_or_default()) {
        let failure = worker::exec(&path, args.get(1..).unwrap_or_default());
        return report(&failure);
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { exit::DONE.into() };
        }
    };
    match run(cli) {
        Ok(()) => exit::DONE.into(),
        Err(failure) => report(&failure),
    }
}

/// Says why it is not done. A closed stream is no reason to panic: the exit code still tells.
fn report(failure: &Failure) -> ExitCode {
    if !failure.is_silent() {
        let _ = writeln!(std::io::stderr(), "cogworker: {}", text::shown_lines(&failure.to_string()));
    }
    failure.code().into()
}

fn run(cli: Cli) -> Outcome {
    if cli.require.is_some() {
        return Err(Failure::Usage("-r is for a worker: it goes without a command, or after dev".to_owned()));
    }
    match cli.command {
        Command::Completions { shell } => completions(shell),
        Command::Dev(options) => dev::run(&cli.options, &options),
        #[cfg(feature = "web")]
        Command::Web(options) => web::run(&cli.options.place, &options),
        command => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let outcome = runtime.block_on(ask(&cli.options, command));
            // A reply that never comes must not hold the program up.
            runtime.shutdown_background();
            outcome
        }
    }
}

/// The commands that talk to Redis.
async fn ask(options: &Options, command: Command) -> Outcome {
    let mut output = Output::new(options.json);
    if let Command::Watch(watch) = &command {
        // It connects by itself, as it goes on when Redis is away.
        return watch::run(&options.place, watch, &mut output).await;
    }
    // What is wrong with the words themselves is told without any Redis.
    match &command {
        Command::Push(push) => drop(push.job()?),
        Command::Queue(queue) => queue.check()?,
        _ => {}
    }
    let connection = match options.place.connect().await {
        Err(failure) if matches!(command, Command::Doctor) => {
            return doctor::unreachable(failure, &mut output);
        }
        connection => connection?,
    };
    let outcome = on(&connection, options, &command, &mut output).await;
    // What was done before a failure is told as well.
    let flushed = output.flush();
    outcome?;
    Ok(flushed?)
}

async fn on(connection: &Connection, options: &Options, command: &Command, output: &mut Output) -> Outcome {
    let client = &connection.client;
    match command {
        Command::Stats => stats::run(client, output).await,
        Command::Queues => queue::list_all(client, output).await,
        Command::Queue(queue) => queue::run(client, queue, options.yes, output).await,
        Command::Jobs(jobs) => jobs::run(client, jobs, options.yes, output).await,
        Command::Push(push) => push::run(client, push, output).await,
        Command::Processes => processes::list(client, output).await,
        Command::Quiet(who) => processes::tell(client, who, Control::Quiet, options.yes, output).await,
        Command::Resume(who) => processes::tell(client, who, Control::Resume, options.yes, output).await,
        Command::Stop(who) => processes::tell(client, who, Control::Stop, options.yes, output).await,
        Command::Cron(cron) => cron::run(client, cron, output).await,
        Command::Status(status) => status::run(client, status, output).await,
        Command::Doctor => doctor::run(connection, output).await,
        Command::Watch(_) | Command::Dev(_) | Command::Completions { .. } => Ok(()),
        #[cfg(feature = "web")]
        Command::Web(_) => Ok(()),
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cogworker", &mut script);
    let mut output = Output::new(false);
    output.raw(&String::from_utf8_lossy(&script))?;
    Ok(output.flush()?)
}
