//! Private Redis servers and process harnesses for tests of Cogworker and of programs that use it.
//!
//! Every part is synchronous and free of a Redis client, so any test can use it, under any runtime.
//!
//! - [`TestRedis`] starts a Redis server of the test's own in a few milliseconds and removes it again;
//!   it can be stopped, killed, restarted and paused to play an outage.
//! - [`TestSentinel`] is a primary with replicas and Sentinels that can fail over.
//! - [`TestCluster`] is a Redis Cluster of three nodes.
//! - [`FaultProxy`] stands before a server and plays the network: silence, resets, a reply lost, a failover.
//! - [`RedisBinary`] finds the server program, and fetches it where none is installed.
//! - [`Resp`] and [`Value`] speak enough of the Redis protocol to look at what a test left behind.
//! - [`WorkerProcess`] runs a worker program, reads its log and sends it signals.
//! - [`wait_until`] is the one way to wait for a condition.
//!
//! ```no_run
//! use cogworker_testing::TestRedis;
//!
//! # fn main() -> Result<(), cogworker_testing::TestRedisError> {
//! let redis = TestRedis::start()?;
//! redis.cli(&["LPUSH", "cogworker:queue:default", "{}"]);
//! assert_eq!(redis.cli(&["LLEN", "cogworker:queue:default"]), 1);
//! # Ok(())
//! # }
//! ```
//!
//! The crate works on Unix only, as the worker itself does.

mod certificates;
mod debian_packages;
mod fault_proxy;
mod fetch;
mod frames;
mod memory;
mod parent_watch;
mod ports;
mod proxy_link;
mod proxy_state;
mod python_wheels;
mod redis_binary;
mod redis_search;
mod replication;
mod resp;
mod sentinel_process;
mod server_process;
mod signal;
mod test_cluster;
mod test_redis;
mod test_redis_error;
mod test_redis_options;
mod test_sentinel;
mod value;
mod wait;
mod worker_log;
mod worker_process;

pub use fault_proxy::{Fault, FaultProxy};
pub use fetch::FetchError;
pub use redis_binary::{RedisBinary, RedisBinaryError};
pub use resp::{Resp, RespError};
pub use signal::SignalError;
pub use test_cluster::TestCluster;
pub use test_redis::TestRedis;
pub use test_redis_error::TestRedisError;
pub use test_redis_options::TestRedisOptions;
pub use test_sentinel::{TestSentinel, TestSentinelOptions};
pub use value::Value;
pub use wait::wait_until;
pub use worker_process::{WorkerProcess, WorkerProcessError};
