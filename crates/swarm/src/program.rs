//! The program `cogworkerswarm`, and the same from another one.

use std::process::ExitCode;

use cogworker_server::logging::LogOptions;
use cogworker_server::{cli, exit_code, supervised};
use tracing::warn;

use crate::args::SwarmArgs;
use crate::swarm::Swarm;

/// The whole `main` of `cogworkerswarm`: flags, configuration, log, swarm. The configuration is checked before any
/// worker is started (P-59).
pub fn main() -> ExitCode {
    let (args, loaded) = match cli::start_as::<SwarmArgs>() {
        Ok(started) => started,
        Err(code) => return code,
    };
    let refuse = |error: &dyn std::fmt::Display| {
        eprintln!("cogworkerswarm: {error}");
        exit_code::CONFIGURATION.into()
    };
    let swarm = match args.swarm(|name| std::env::var_os(name)) {
        Ok(swarm) => swarm,
        Err(error) => return refuse(&error),
    };
    match LogOptions::of(&loaded.config).init() {
        Ok(log) => {
            let config = loaded.config;
            let mut swarm = swarm.log(log).shutdown_timeout(config.shutdown_timeout);
            swarm.health_bind = config.health_bind;
            run(swarm)
        }
        Err(error) => refuse(&format!("failed to {error}")),
    }
}

/// Runs a swarm until it is told to stop (TERM, INT); its log is whatever the program has set up.
///
/// It takes the process over: its signals, and as the first process of a container all processes that lost their
/// parent. Call it first in `main`. A program can be worker and swarm in one:
///
/// ```no_run
/// use std::process::ExitCode;
/// use cogworker_server::App;
/// use cogworker_server::logging::LogOptions;
/// use cogworker_swarm::Swarm;
///
/// fn main() -> ExitCode {
///     if cogworker_swarm::is_worker() || std::env::var_os("COGWORKER_COUNT").is_none() {
///         return cogworker_server::main(|_boot| async { App::new(()) });
///     }
///     let Ok(log) = LogOptions::new().init() else { return ExitCode::FAILURE };
///     match Swarm::of_this_program() {
///         Ok(swarm) => cogworker_swarm::run(swarm.count(4).phased_restart(true).log(log)),
///         Err(_) => ExitCode::FAILURE,
///     }
/// }
/// ```
pub fn run(swarm: Swarm) -> ExitCode {
    if cfg!(not(target_os = "linux")) && swarm.rules.memory_limit_kb.is_some() {
        warn!("the memory limit has no effect: this system does not tell what a process takes");
    }
    swarm.run()
}

/// Whether this process is a worker that a swarm started.
pub fn is_worker() -> bool {
    std::env::var_os(supervised::CHILD_VAR).is_some()
}
