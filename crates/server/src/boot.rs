//! A worker executable's `main`: flags, configuration, log, signals, exit code.

use std::fmt::Display;
use std::future::Future;
use std::process::ExitCode;

use cogworker_core::redis_config::RedisConfig;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info, warn};

use crate::app::App;
use crate::config::Config;
use crate::logging::{self, LogHandle};
use crate::server::{Server, ServerHandle};
use crate::{cli, exit_code};

/// What the application learns before it builds its [`App`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Boot {
    /// The loaded configuration.
    pub config: Config,
}

impl Boot {
    /// Where Redis is: for the application's own use of it.
    pub fn redis(&self) -> &RedisConfig {
        &self.config.redis
    }

    /// The environment's name, such as `production`.
    pub fn environment(&self) -> &str {
        &self.config.environment
    }
}

/// Runs a worker from the standard flags to its exit code: parses them, loads the configuration,
/// builds the application with `build`, and works until a signal or a control message.
///
/// Before anything else the program executes itself again once if `APP_ENV`, `RAILS_ENV` and
/// `RACK_ENV` do not all carry the environment's name yet, so that they do everywhere in it
/// (CONF-10, CONF-11).
///
/// ```no_run
/// use std::process::ExitCode;
/// use cogworker_server::App;
/// # use cogworker_core::job::Job;
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Greeting(String);
/// # impl Job for Greeting { const CLASS: &'static str = "GreetingJob"; }
///
/// async fn greet(job: Greeting) {
///     println!("Hello, {}!", job.0);
/// }
///
/// fn main() -> ExitCode {
///     cogworker_server::main(|_boot| async { Ok::<_, String>(App::new(()).job(greet)) })
/// }
/// ```
pub fn main<F, Fut, S, E>(build: F) -> ExitCode
where
    F: FnOnce(Boot) -> Fut,
    Fut: Future<Output = Result<App<S>, E>>,
    S: Send + Sync + 'static,
    E: Display,
{
    let config = match cli::start() {
        Ok(loaded) => loaded.config,
        Err(code) => return code,
    };
    let filter = std::env::var("RUST_LOG").ok();
    let log = match logging::init(config.logfile.as_deref(), filter.as_deref()) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("cogworker: failed to {error}");
            return exit_code::CONFIGURATION.into();
        }
    };
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(work(config, build, log));
            // A blocking job that outlived the shutdown must not hold the process up.
            runtime.shutdown_background();
            code.into()
        }
        Err(error) => {
            error!("failed to start the runtime: {error}");
            exit_code::FAILURE.into()
        }
    }
}

async fn work<F, Fut, S, E>(config: Config, build: F, log: LogHandle) -> u8
where
    F: FnOnce(Boot) -> Fut,
    Fut: Future<Output = Result<App<S>, E>>,
    S: Send + Sync + 'static,
    E: Display,
{
    let app = match build(Boot { config: config.clone() }).await {
        Ok(app) => app,
        Err(error) => {
            error!("failed to build the application: {error}");
            return exit_code::FAILURE;
        }
    };
    let server = Server::new(config, app);
    let control = server.handle();
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => {
            error!("failed to listen for signals: {error}");
            return exit_code::FAILURE;
        }
    };
    let listening = tokio::spawn(signals.listen(control, log));
    let result = server.run(std::future::pending()).await;
    listening.abort();
    match result {
        Ok(()) => exit_code::CLEAN,
        Err(error) => {
            error!("failed to {error}");
            exit_code::FAILURE
        }
    }
}

struct Signals {
    term: tokio::signal::unix::Signal,
    int: tokio::signal::unix::Signal,
    tstp: tokio::signal::unix::Signal,
    ttin: tokio::signal::unix::Signal,
    hup: tokio::signal::unix::Signal,
}

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            tstp: signal(SignalKind::from_raw(libc::SIGTSTP))?,
            ttin: signal(SignalKind::from_raw(libc::SIGTTIN))?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    async fn listen(mut self, worker: ServerHandle, log: LogHandle) {
        loop {
            tokio::select! {
                _ = self.term.recv() => worker.stop(),
                _ = self.int.recv() => worker.stop(),
                _ = self.tstp.recv() => {
                    info!("quiet: no further jobs are taken");
                    worker.quiet();
                }
                _ = self.ttin.recv() => worker.log_running(),
                _ = self.hup.recv() => match log.reopen() {
                    Ok(()) => info!("reopened the log file"),
                    Err(error) => warn!("failed to reopen the log file: {error}"),
                },
            }
        }
    }
}
