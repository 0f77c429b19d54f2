//! Redis old, rude, gone, moved or guarded: the worker on real servers under real faults.

mod access;
mod cluster;
mod connections;
mod frozen;
mod lost_outcomes;
mod lost_replies;
mod periodic;
mod program;
mod replies;
mod restarts;
mod roles;
mod round;
mod sentinel;
#[expect(dead_code, reason = "the other tests of the server use the rest")]
#[path = "../server/support.rs"]
mod support;
mod versions;
