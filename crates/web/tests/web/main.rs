//! The router against a real Redis: what a browser gets.
#![expect(clippy::unwrap_used, reason = "a request that cannot be made or read fails the test at that line")]

mod assets;
mod contrast;
mod extensions;
mod frame;
mod metrics;
mod names;
mod outages;
mod overview;
mod schedules;
mod support;
mod workers;
