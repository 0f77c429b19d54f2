//! Cogworker's server crate.
