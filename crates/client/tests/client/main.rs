//! The client on a real Redis.

mod inspecting;
mod pushing;
mod support;
