//! What a worker's exit code means.

/// A clean stop.
pub const CLEAN: u8 = 0;

/// The worker could not start or go on.
pub const FAILURE: u8 = 1;

/// A wrong flag or configuration; nothing was started, nothing written to Redis.
pub const CONFIGURATION: u8 = 2;
