//! The Cogworker worker: takes jobs off Redis queues, runs them, and settles what comes of them.
//!
//! - [`main`]: a worker executable's whole `main`.
//! - [`App`]: which handler runs which class; [`Context`]: what a handler may know and do;
//!   [`JobError`]: a failure with a class of its own.
//! - [`Server`]: a worker embedded in a program of your own; [`ServerHandle`] controls it.
//! - [`Config`]: its settings; [`config`] loads them; [`exit_code`] says how it ended.
//!
//! Inside, one engine owns the job slots; heartbeat, poller, key guard and control run beside it on
//! the same thread, and jobs on the runtime of the application (`docs/architecture.md`).

mod app;
mod boot;
pub mod cli;
pub mod config;
mod context;
mod engine;
pub mod exit_code;
mod handler;
mod health;
mod identity;
mod job_error;
pub mod logging;
mod outage;
mod panic_guard;
mod server;
mod services;

pub use app::App;
pub use boot::{Boot, main};
pub use config::{Config, ConfigBuilder, ConfigError, FetchMode};
pub use context::Context;
pub use handler::{BlockingHandler, Handler};
#[doc(hidden)]
pub use health::HealthLimits;
pub use job_error::{BoxError, JobError, JobResult};
pub use server::{Server, ServerError, ServerHandle};
