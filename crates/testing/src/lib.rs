//! Cogworker's testing crate.
