#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! - `cogworkerswarm -r ./worker`, the program: [`main`].
//! - [`run`]: the same from a program of your own, which may be the worker itself.
//!
//! # Features
//!
//! - `cli`, on by default: the program `cogworker`.
//! - `web`, on by default: the web UI in it.
//!
//! # Inside
//!
//! The `supervisor` module decides, without processes or clocks; `swarm` obeys it. There is no
//! connection to Redis here: what a dead worker held is recovered by a living one.

mod adopted;
mod args;
mod child;
mod health;
mod notes;
mod output;
mod program;
mod service;
mod signals;
mod supervisor;
mod swarm;

/// What `-r` means, for `cogworker` too.
#[doc(hidden)]
pub use self::args::{ArgsError, program};
pub use self::program::{is_worker, main, run};
pub use self::swarm::Swarm;
