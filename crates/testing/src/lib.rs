//! Real parts for tests: private Redis servers and worker processes.
//!
//! - [`TestRedis`]: a server of the test's own, gone with the test.
//! - [`WorkerProcess`]: a worker executable under the test's control.
//! - [`wait_until`]: the one way to wait for something that cannot be awaited.
//! - [`redis_binary`]: where the server's executable comes from.

pub mod redis_binary;
mod resp;
mod test_redis;
mod wait;
mod worker_process;

pub use resp::{RespClient, RespError, Value};
pub use test_redis::{TestRedis, TestRedisBuilder, TestRedisError};
pub use wait::wait_until;
pub use worker_process::WorkerProcess;
