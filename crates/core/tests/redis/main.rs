//! What needs a real Redis: each script, and replies of awkward shapes.

mod cluster;
mod connection;
mod failover;
mod refusals;
mod reply_shapes;
mod scripts_burials;
mod scripts_effects;
mod scripts_entries;
mod scripts_guard;
mod scripts_history;
mod scripts_jobs;
mod scripts_numbers;
mod scripts_periodic;
mod scripts_processes;
mod scripts_push;
mod scripts_recovery;
mod scripts_search;
mod scripts_sets;
mod scripts_walk;
mod subscriber;
mod support;
