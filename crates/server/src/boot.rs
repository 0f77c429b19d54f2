//! A worker executable's `main`: flags, configuration, log, signals, exit code.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::config::{Config, Key, Source};
use crate::health::HealthLimits;
use crate::identity::new_identity;
use crate::into_app::IntoApp;
use crate::job_error::failure_of;
use crate::logging::{LogHandle, LogOptions, LoggingError};
use crate::server::{Server, ServerHandle, Watched};
use crate::supervised::Supervised;
use crate::{cli, exit_code};

/// Threads for other blocking work (files, names of hosts) beside one for each job: tokio's default.
const SPARE_BLOCKING_THREADS: usize = 512;

/// How long an application that is being built may take to notice that the process is to end.
const BUILD_LIMIT: Duration = Duration::from_secs(2);

/// What the application learns before it builds its [`App`](crate::App).
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
/// builds the application with `build`, and works until a signal or a control message. A log that the
/// program has set up already is used as it is; `logfile` then means nothing. TERM and INT
/// end it while the application is being built, too: `build` is dropped where it waits.
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
///     cogworker_server::main(|_boot| async { App::new(()).job(greet) })
/// }
/// ```
pub fn main<F, Fut>(build: F) -> ExitCode
where
    F: FnOnce(Boot) -> Fut,
    Fut: Future<Output: IntoApp>,
{
    let (mut config, redis_named_by) = match cli::start() {
        Ok(loaded) => (loaded.config, loaded.sources.get(Key::Redis)),
        Err(code) => return code,
    };
    let supervised = match Supervised::attach() {
        Ok(supervised) => supervised,
        Err(error) => {
            eprintln!("cogworker: failed to {error}");
            return exit_code::CONFIGURATION.into();
        }
    };
    if supervised.is_some() {
        // One address cannot be had by all: the swarm answers for them.
        config.health_bind = None;
    }
    let log = match LogOptions::of(&config).init() {
        Ok(log) => log,
        // The program's own log is as good; where it goes is the program's affair.
        Err(LoggingError::AlreadySet(_)) => LogHandle::default(),
        Err(error) => {
            eprintln!("cogworker: failed to {error}");
            return exit_code::CONFIGURATION.into();
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(config.concurrency.saturating_add(SPARE_BLOCKING_THREADS))
        .build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(work((config, redis_named_by), build, log, supervised));
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

async fn work<F, Fut>(
    (config, redis_named_by): (Config, Source),
    build: F,
    log: LogHandle,
    supervised: Option<Supervised>,
) -> u8
where
    F: FnOnce(Boot) -> Fut,
    Fut: Future<Output: IntoApp>,
{
    // Before the app is built: it may wait for a database for long.
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => {
            error!("failed to listen for signals: {error}");
            return exit_code::FAILURE;
        }
    };
    let (stop, built) = (CancellationToken::new(), CancellationToken::new());
    // As long as that takes, the process must not be taken for dead.
    let (mut identity, hostname) = new_identity();
    let (mut link, mut quiet) = (None, false);
    if let Some(supervised) = supervised {
        (identity, quiet) = (supervised.identity.clone(), supervised.quiet);
        link = match supervised.listen(stop.clone()) {
            Ok(link) => Some(link),
            Err(error) => {
                error!("failed to listen to the swarm: {error}");
                return exit_code::FAILURE;
            }
        };
    }
    let watched = match Watched::start(&config, identity, HealthLimits::of(&config), stop.clone()) {
        Ok(watched) => watched,
        Err(error) => {
            error!("failed to {error}");
            return exit_code::FAILURE;
        }
    };
    let (started, worker) = mpsc::channel(1);
    let listening = tokio::spawn(signals.listen(stop.clone(), built.clone(), worker, log, quiet));
    let app = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        app = build(Boot { config: config.clone() }) => Some(app),
    };
    built.cancel();
    let Some(app) = app.filter(|_| !stop.is_cancelled()) else {
        info!("stopped before the application was built");
        return exit_code::CLEAN;
    };
    let app = match app.into_app() {
        Ok(app) => app,
        Err(error) => {
            error!("failed to build the application: {}", failure_of(error).message);
            return exit_code::FAILURE;
        }
    };
    let server = Server::watched(config, app, hostname, watched, link).redis_named_by(redis_named_by);
    if quiet {
        server.handle().quiet();
    }
    let _ = started.send(server.handle()).await;
    let result = server.run(stop.cancelled_owned()).await;
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
    term: Signal,
    int: Signal,
    tstp: Signal,
    ttin: Signal,
    hup: Signal,
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

    /// Obeys signals: on behalf of the worker once it has `started`, and before that too.
    async fn listen(
        mut self,
        stop: CancellationToken,
        built: CancellationToken,
        mut started: mpsc::Receiver<ServerHandle>,
        log: LogHandle,
        mut quiet: bool,
    ) {
        let mut worker: Option<ServerHandle> = None;
        loop {
            tokio::select! {
                Some(handle) = started.recv(), if worker.is_none() => {
                    if quiet {
                        handle.quiet();
                    }
                    worker = Some(handle);
                }
                _ = self.term.recv() => end(&stop, &built),
                _ = self.int.recv() => end(&stop, &built),
                _ = self.tstp.recv() => {
                    info!("quiet: no further jobs are taken");
                    quiet = true;
                    if let Some(worker) = &worker {
                        worker.quiet();
                    }
                }
                _ = self.ttin.recv() => match &worker {
                    Some(worker) => worker.log_running(),
                    None => info!("the application is still being built"),
                },
                _ = self.hup.recv() => match log.reopen() {
                    Ok(()) => info!("reopened the log file"),
                    Err(error) => warn!("failed to reopen the log file: {error}"),
                },
            }
        }
    }
}

/// Begins the end of the process. Building holds up a thread where it waits for something without
/// `await`: nothing has been taken or registered yet, so it is not waited for.
fn end(stop: &CancellationToken, built: &CancellationToken) {
    stop.cancel();
    let built = built.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = built.cancelled() => {}
            () = tokio::time::sleep(BUILD_LIMIT) => {
                info!("stopped while the application was being built");
                std::process::exit(exit_code::CLEAN.into());
            }
        }
    });
}
