//! The router against a real Redis: what a browser gets.

mod frame;
mod support;
