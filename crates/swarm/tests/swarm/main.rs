//! Swarms of real processes on a Redis of the test's own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crashes;
mod first_process;
mod life;
mod memory;
mod restarts;
mod service;
mod support;
