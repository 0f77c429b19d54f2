//! The example app's jobs.
