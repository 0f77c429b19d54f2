//! The exit codes of a worker process.

/// The worker stopped because it was told to, and everything is settled or given back.
pub const CLEAN: u8 = 0;

/// The worker could not go on: the app did not start, or a part that it cannot do without failed.
pub const FAILURE: u8 = 1;

/// The flags, the environment or the configuration file are wrong: starting again will not help.
pub const CONFIGURATION: u8 = 2;
