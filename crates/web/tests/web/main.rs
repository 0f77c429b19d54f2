//! The router against a real Redis: what a browser gets.
#![expect(clippy::unwrap_used, reason = "a request that cannot be made or read fails the test at that line")]

mod assets;
mod broken_jobs;
mod bulk;
mod contrast;
mod entries;
mod errors;
mod extensions;
mod frame;
mod history;
mod job_actions;
mod jobs;
mod late_jobs;
mod metrics;
mod names;
mod operators;
mod outages;
mod overview;
mod redaction;
mod schedules;
mod sizes;
mod support;
mod threads;
mod workers;
