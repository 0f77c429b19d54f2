#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! **Without Redis**, from the app's client down to the handler by the code that runs in production:
//!
//! - [`Fake`] keeps what is pushed in memory, to look at it and to run it when the test says so.
//! - [`Inline`] runs each job where it is pushed.
//! - [`assert_enqueued!`] and [`assert_not_enqueued!`] say what was enqueued instead.
//! - [`context`] makes the context of a handler that a test calls itself.
//!
//! **With servers** (feature `servers`, on by default):
//!
//! - [`TestRedis`] starts a Redis server of the test's own in a few milliseconds and removes it again;
//!   it can be stopped, killed, restarted and paused to play an outage.
//! - [`TestSentinel`] is a primary with replicas and Sentinels that can fail over.
//! - [`TestCluster`] is a Redis Cluster of three nodes.
//! - [`FaultProxy`] stands before a server and plays the network: silence, resets, a reply lost, a failover.
//! - [`RedisBinary`] finds the server program, and fetches it where none is installed.
//! - [`Resp`] and [`RespValue`] speak enough of the Redis protocol to look at what a test left behind.
//! - [`WorkerProcess`] runs a worker program, reads its log and sends it signals.
//! - [`wait_until`] is the one way to wait for a condition.
//!
//! Every part of these is synchronous and free of a Redis client, so any test can use it, under any
//! runtime. The crate works on Unix only, as the worker itself does.

/// The samples of the guide, which are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
struct Guide;

mod assertions;
mod fake;
mod inline;
mod test_context;
mod wait;

#[cfg(feature = "servers")]
mod certificates;
#[cfg(feature = "servers")]
mod fault_proxy;
#[cfg(feature = "servers")]
mod frames;
#[cfg(feature = "servers")]
mod memory;
#[cfg(feature = "servers")]
mod ports;
#[cfg(feature = "servers")]
mod proxy_link;
#[cfg(feature = "servers")]
mod proxy_state;
#[cfg(feature = "servers")]
mod replication;
#[cfg(feature = "servers")]
mod resp;
#[cfg(feature = "servers")]
mod resp_value;
#[cfg(feature = "servers")]
mod sentinel_process;
#[cfg(feature = "servers")]
mod server_process;
#[cfg(feature = "servers")]
mod signal;
#[cfg(feature = "servers")]
mod test_cluster;
#[cfg(feature = "servers")]
mod test_redis;
#[cfg(feature = "servers")]
mod test_redis_error;
#[cfg(feature = "servers")]
mod test_redis_options;
#[cfg(feature = "servers")]
mod test_sentinel;
#[cfg(feature = "servers")]
mod worker_log;
#[cfg(feature = "servers")]
mod worker_process;

pub use fake::{Application, Fake, FakeError, FakeJob};
pub use inline::Inline;
pub use test_context::{context, context_of, interrupt};
pub use wait::wait_until;

#[cfg(feature = "servers")]
pub use cogworker_local_redis::{FetchError, RedisBinary, RedisBinaryError};
#[cfg(feature = "servers")]
pub use fault_proxy::{Fault, FaultProxy};
#[cfg(feature = "servers")]
pub use resp::{Resp, RespError};
#[cfg(feature = "servers")]
pub use resp_value::RespValue;
#[cfg(feature = "servers")]
pub use signal::{SignalError, send_signal};
#[cfg(feature = "servers")]
pub use test_cluster::TestCluster;
#[cfg(feature = "servers")]
pub use test_redis::TestRedis;
#[cfg(feature = "servers")]
pub use test_redis_error::TestRedisError;
#[cfg(feature = "servers")]
pub use test_redis_options::TestRedisOptions;
#[cfg(feature = "servers")]
pub use test_sentinel::{TestSentinel, TestSentinelOptions};
#[cfg(feature = "servers")]
pub use worker_process::{WorkerProcess, WorkerProcessError};
