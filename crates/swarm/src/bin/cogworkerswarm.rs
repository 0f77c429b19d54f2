//! Runs several workers of an application.

fn main() {}
