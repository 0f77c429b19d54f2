//! Loading a configuration: its layers, their order and their errors.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic fails the test")]

mod errors;
mod given;
mod layers;
