//! `cogworker dev`: a Redis of its own and the UI, with `-r PATH` a worker too, ended together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use cogworker_core::redis_config::URL_VAR;
use cogworker_local_redis::{LocalRedis, ParentWatch};
use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Options as Common;
use crate::exit::{Failure, Outcome};
use crate::worker;

/// How often it looks whether Redis is still there.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The worker's program, or the folder that `worker` is in; without it, there is no worker
    #[arg(short, long, value_name = "PATH")]
    require: Option<PathBuf>,
    /// Redis's port; a free one by default
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Flags for the worker; they come last
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORKER FLAGS")]
    flags: Vec<OsString>,
}

pub(crate) fn run(common: &Common, options: &Options) -> Outcome {
    let mut command = match &options.require {
        Some(path) => Some(worker_command(common, &worker::program(path)?, &options.flags)),
        None if options.flags.is_empty() => None,
        None => {
            let flag = options.flags[0].display();
            return Err(Failure::Usage(format!("{flag} is for a worker: it needs -r PATH")));
        }
    };
    if common.place.redis_url.is_some() && options.port.is_some() {
        return Err(Failure::Usage(
            "--port is for a private Redis: it does not go with --redis-url".to_owned(),
        ));
    }
    // REDIS_URL of the surroundings may be production's: only the flag counts.
    let (mut redis, url) = match &common.place.redis_url {
        Some(_) => (None, common.place.redis_url.clone().unwrap_or_default()),
        None => {
            let redis = LocalRedis::start(options.port).map_err(|error| failure(&error))?;
            let url = redis.url();
            (Some(redis), url)
        }
    };
    if let Some(command) = &mut command {
        command.env(URL_VAR, &url);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        // Before there is anything to end.
        let asked = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        if redis.is_some() {
            eprintln!("Redis: {url} (private and in memory: it goes, with its jobs, when this ends)");
            eprintln!("Elsewhere: export {URL_VAR}={url}");
        }
        let mut with_us = ParentWatch::start(None)?;
        #[cfg(feature = "web")]
        let _ui = serve_ui(&url).await?;
        // Its group is named before there is a worker: killed at any moment, this program leaves none behind.
        let group = with_us.group();
        with_us.watch(group)?;
        let worker = command.map(|command| spawn(command, group)).transpose()?;
        watch(worker, redis.as_mut(), asked).await
    });
    drop(redis);
    outcome
}

fn worker_command(common: &Common, program: &Path, flags: &[OsString]) -> Command {
    let mut command = Command::new(program);
    // Before -- too, so that the environment and the file need not be given where nobody looks for them.
    if let Some(path) = &common.place.config {
        command.arg("-C").arg(path);
    }
    if let Some(name) = &common.place.environment {
        command.arg("-e").arg(name);
    }
    command.args(flags).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// In a group of its own: Ctrl-C reaches the whole group of the terminal, and the worker is told once, by this program.
fn spawn(mut command: Command, group: u32) -> Result<Child, Failure> {
    let worker = command.process_group(i32::try_from(group).unwrap_or(0)).spawn();
    worker.map_err(|error| {
        let program = command.as_std().get_program().display();
        Failure::Failed(format!("failed to run {program}: {error}"))
    })
}

/// The UI goes with the runtime.
#[cfg(feature = "web")]
async fn serve_ui(url: &str) -> Result<tokio::task::JoinHandle<std::io::Result<()>>, Failure> {
    use cogworker_core::redis_config::RedisConfig;

    let redis = RedisConfig::new(url).map_err(|error| Failure::Usage(error.to_string()))?;
    let ui = crate::web::Ui::local(&redis).await?;
    eprintln!("UI: {}", ui.url());
    Ok(tokio::spawn(ui.serve(std::future::pending())))
}

fn failure(error: &cogworker_local_redis::LocalRedisError) -> Failure {
    let mut text = format!("failed to {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!("\n  caused by: failed to {cause}"));
        source = cause.source();
    }
    Failure::Failed(text)
}

/// Until one of them ends, or somebody asks for it.
async fn watch(
    mut worker: Option<Child>,
    mut redis: Option<&mut LocalRedis>,
    (mut int, mut term): (Signal, Signal),
) -> Outcome {
    let mut looks = tokio::time::interval(LOOK);
    let mut lost = None;
    loop {
        tokio::select! {
            status = end_of(&mut worker) => return ended(status?, false),
            _ = int.recv() => break,
            _ = term.recv() => break,
            _ = looks.tick() => {
                if let Some(Ok(Some(status))) = redis.as_mut().map(|redis| redis.exit_status()) {
                    lost = Some(Failure::Failed(format!("redis ended with {status}")));
                    break;
                }
            }
        }
    }
    let Some(mut worker) = worker else { return lost.map_or(Ok(()), Err) };
    eprintln!("stopping the worker; once more to kill it");
    tell_to_stop(&worker);
    let status = tokio::select! {
        status = worker.wait() => status?,
        _ = int.recv() => kill(&mut worker).await?,
        _ = term.recv() => kill(&mut worker).await?,
    };
    match lost {
        Some(failure) => Err(failure),
        None => ended(status, true),
    }
}

/// Never, without a worker.
async fn end_of(worker: &mut Option<Child>) -> std::io::Result<ExitStatus> {
    match worker {
        Some(worker) => worker.wait().await,
        None => std::future::pending().await,
    }
}

fn tell_to_stop(worker: &Child) {
    let pid = worker.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(pid) = pid {
        let _ = kill_process(pid, rustix::process::Signal::TERM);
    }
}

async fn kill(worker: &mut Child) -> std::io::Result<ExitStatus> {
    worker.kill().await?;
    worker.wait().await
}

fn ended(status: ExitStatus, asked_for: bool) -> Outcome {
    match (status.success(), asked_for) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Failed(format!("the worker was stopped and ended with {status}"))),
        (false, false) => Err(Failure::Failed(format!("the worker ended with {status}"))),
    }
}
