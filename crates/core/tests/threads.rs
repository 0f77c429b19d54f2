//! What is shared by the threads of a program.

use cogworker_core::args::ArgsError;
use cogworker_core::failure::Failure;
use cogworker_core::new_job::{NewJob, NewJobError};
use cogworker_core::redis::{Redis, RedisError};
use cogworker_core::redis_config::{RedisConfig, RedisConfigError};

const fn crosses_threads<T: Send + Sync + 'static>() {}

/// Checked when this is compiled: errors go into boxes of any kind.
#[test]
fn handles_and_errors_cross_threads() {
    crosses_threads::<ArgsError>();
    crosses_threads::<Failure>();
    crosses_threads::<NewJob>();
    crosses_threads::<NewJobError>();
    crosses_threads::<Redis>();
    crosses_threads::<RedisConfig>();
    crosses_threads::<RedisConfigError>();
    crosses_threads::<RedisError>();
}
