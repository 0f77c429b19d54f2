//! What needs a real Redis: each script, and replies of awkward shapes.

mod cluster;
mod connection;
mod refusals;
mod reply_shapes;
mod scripts_guard;
mod scripts_jobs;
mod scripts_recovery;
mod scripts_sets;
mod subscriber;
mod support;
