//! The worker as a library: `Server` and `App` against a real Redis.

mod args;
mod counters;
mod failures;
mod handlers;
mod outages;
mod ownership;
mod poller;
mod presence;
mod queues;
mod routing;
mod shutdown;
mod support;
