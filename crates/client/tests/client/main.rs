//! The client on a real Redis.

mod inspecting;
mod middleware;
mod pushing;
mod support;
mod unique;
