//! What is shared by the threads of a program.

use cogworker_server::{
    App, BoxError, Config, ConfigError, Context, FailedJob, JobError, PeriodicError, ProgressError, Run,
    Server, ServerError, ServerHandle, cli, config, logging,
};

const fn crosses_threads<T: Send + Sync + 'static>() {}
const fn moves<T: Send + 'static>() {}

/// Checked when this is compiled: a handler's context goes where its work goes, errors into boxes of any kind.
#[test]
fn handles_and_errors_cross_threads() {
    crosses_threads::<BoxError>();
    crosses_threads::<Config>();
    crosses_threads::<ConfigError>();
    crosses_threads::<Context<()>>();
    crosses_threads::<FailedJob>();
    crosses_threads::<JobError>();
    crosses_threads::<PeriodicError>();
    crosses_threads::<ProgressError>();
    crosses_threads::<Run>();
    crosses_threads::<ServerError>();
    crosses_threads::<ServerHandle>();
    crosses_threads::<cli::CliError>();
    crosses_threads::<config::LoadError>();
    crosses_threads::<logging::LogHandle>();
    crosses_threads::<logging::LoggingError>();
    moves::<App<()>>();
    moves::<Server>();
}
