//! The operator's binary, from outside: the real program against Redis servers of the tests' own.

mod connecting;
mod cron;
mod doctor;
mod golden;
mod jobs;
mod processes;
mod push;
mod queues;
mod running;
mod status;
mod support;
mod terminal;
#[cfg(feature = "web")]
mod web;
