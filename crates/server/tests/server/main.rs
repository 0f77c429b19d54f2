//! The worker as a library: `Server` and `App` against a real Redis.

mod args;
mod basic;
mod counters;
mod failures;
mod fencing;
mod handlers;
mod health;
mod hooks;
mod key_guard;
mod middleware;
mod outages;
mod ownership;
mod periodic;
mod poller;
mod presence;
mod queues;
mod recovery;
mod routing;
mod schedule;
mod service_failures;
mod shutdown;
mod status_and_history;
mod support;
mod threads;
mod unique;
