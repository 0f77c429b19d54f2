//! The worker executable from outside: signals, exit codes, configuration, crashes.

mod configuration;
mod crashes;
mod signals;
mod support;
