//! The worker as a process: signals, exit codes, configuration, crashes.

mod boot;
mod building;
mod cluster;
mod configuration;
mod crashes;
mod due_jobs;
mod health;
mod jobs;
mod outages;
mod signals;
mod support;
