//! Cogworker's client crate.
