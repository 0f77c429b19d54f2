//! The worker as a process: signals, exit codes, configuration, crashes.

mod boot;
mod configuration;
mod crashes;
mod due_jobs;
mod jobs;
mod signals;
mod support;
