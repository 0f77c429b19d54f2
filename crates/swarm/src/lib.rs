//! A supervisor of worker processes.
