#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! - [`RedisBinary`] finds the server program, and fetches it where none is installed.
//! - [`LocalRedis`] runs it on a folder of its own, and ends it with the program that started it.
//! - [`ParentWatch`] is what ends a started process however its starter ends.
//!
//! `cogworker dev` and `cogworker_testing`'s servers are made of these. Unix only, as the worker is.

mod debian_packages;
#[doc(hidden)]
pub mod fetch;
mod fetch_error;
mod local_redis;
mod parent_watch;
mod python_wheels;
mod redis_binary;
mod redis_search;

pub use fetch_error::FetchError;
pub use local_redis::{LocalRedis, LocalRedisError};
pub use parent_watch::ParentWatch;
pub use redis_binary::{RedisBinary, RedisBinaryError};
