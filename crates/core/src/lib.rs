//! Cogworker's core crate.
