#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc = include_str!("../README.md")]
//!
//! - [`Client`]: pushes jobs, and is the way to everything else.
//! - [`middleware`]: code around each push.
//! - [`Queue`], [`JobSet`]: what waits, what is scheduled, retrying or dead; [`Walk`], [`QueueWalk`]: some of it, in
//!   steps; [`EntryFilter`]: which; [`SearchPage`], [`EntryRef`]: looking through it, and finding one again.
//! - [`Client::status`], [`Client::wait`]: what one job is doing.
//! - [`PeriodicEntries`]: what comes again and again; switched off and on, or run now.
//! - [`Process`], [`RunningJob`], [`InProgress`]: who works, on what, and what the dead have left; [`Stats`], [`HourCount`]: how much was done.
//! - [`failures`]: what fails, grouped by error.
//! - [`ServerInfo`], [`WrongKey`]: whether Redis itself is as it should be.
//! - [`history`]: which runs there were, to page through and to search.
//!
//! # Features
//!
//! - `otel`, off by default: a job carries the OpenTelemetry trace in which it is pushed, as a W3C `traceparent`, for the
//!   `tracing` spans of a program with a `tracing-opentelemetry` layer. A worker with the feature of the same name goes on
//!   with that trace.

mod activity;
mod batch;
mod client;
mod control;
mod durations;
mod entry_filter;
mod entry_ref;
mod error;
pub mod failures;
mod gatherer;
pub mod history;
mod in_progress;
mod job_set;
pub mod middleware;
mod periodic;
mod ping;
mod process_states;
mod processes;
mod push;
mod queue;
mod queue_removal;
mod queue_walk;
mod search;
mod server_info;
mod sink;
mod stats;
mod status;
#[cfg(feature = "otel")]
mod trace_context;
mod unique_lock;
mod walk;
mod wrong_keys;

pub use activity::HourCount;
pub use client::Client;
#[doc(inline)]
pub use cogworker_core::page::{Page, SearchOrder};
pub use control::Control;
pub use entry_filter::EntryFilter;
pub use entry_ref::{EntryRef, NotAnEntryRefError};
pub use error::{ClientError, JobFate};
pub use in_progress::InProgress;
pub use job_set::{Entry, JobSet, KilledAll, Requeued, RequeuedAll};
pub use periodic::{PeriodicEntries, PeriodicJob, PublishedJobs};
pub use process_states::ProcessState;
pub use processes::{Process, RunningJob};
pub use queue::{Queue, QueueInfo};
pub use queue_removal::ClearedSlice;
pub use queue_walk::QueueWalk;
pub use search::{Found, SearchPage};
pub use server_info::ServerInfo;
#[doc(hidden)]
pub use sink::{Sink, Taken};
pub use stats::Stats;
pub use status::Wait;
pub use walk::Walk;
pub use wrong_keys::WrongKey;
