//! The router against a real Redis: what a browser gets.

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
