//! The example worker.

fn main() {}
