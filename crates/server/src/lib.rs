#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! - [`main`]: a worker executable's whole `main`.
//! - [`App`]: which handler runs which class; [`Periodic`]: what is due when; [`Context`]: what a handler may know and do;
//!   [`JobError`]: a failure with a class of its own.
//! - [`Server`]: a worker embedded in a program of your own; [`ServerHandle`] controls it.
//! - [`Config`]: its settings; [`config`] loads them; [`exit_code`] says how it ended.
//!
//! Around the runs: [`middleware`] and any `tower::Layer`; about failures: [`RetryIn`] and the hooks
//! of [`App`].
//!
//! # Features
//!
//! - `otel`, off by default: runs continue the OpenTelemetry trace in which their job was pushed.
//!
//! # Inside
//!
//! One engine owns the job slots; poller, recovery, key guard and control run beside it, the
//! heartbeat on a thread of its own, and jobs on the runtime of the application.

mod app;
mod boot;
pub mod cli;
mod client_chain;
pub mod config;
mod context;
mod counted;
mod deaths;
mod engine;
pub mod exit_code;
#[cfg(doctest)]
mod guide;
mod handler;
mod health;
mod hooks;
mod identity;
mod into_app;
mod job_error;
pub mod logging;
pub mod middleware;
mod outage;
mod panic_guard;
mod performer;
mod periodic;
mod progress;
mod run;
mod server;
mod services;
#[doc(hidden)]
pub mod supervised;
#[cfg(feature = "otel")]
mod tracing_runs;

pub use app::App;
pub use boot::{Boot, main};
#[doc(inline)]
pub use cogworker_core::history_limits::HistoryLimits;
pub use config::{Config, ConfigBuilder, ConfigError, FetchMode, LogFormat};
pub use context::Context;
pub use handler::{BlockingHandler, Handler};
#[doc(hidden)]
pub use health::HealthLimits;
pub use hooks::{FailedJob, RetryIn};
pub use into_app::IntoApp;
pub use job_error::{BoxError, JobError, JobResult};
#[doc(hidden)]
pub use performer::{Fate, Fired, Performed, Performer};
pub use periodic::{Periodic, PeriodicError};
pub use progress::ProgressError;
pub use run::Run;
pub use server::{Server, ServerError, ServerHandle};
