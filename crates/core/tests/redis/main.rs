//! What needs a real Redis: each script, and replies of awkward shapes.

mod connection;
mod reply_shapes;
mod scripts_jobs;
mod scripts_sets;
mod support;
