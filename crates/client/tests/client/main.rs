//! The client on a real Redis.

mod deleting;
mod inspecting;
mod middleware;
mod pushing;
mod support;
mod unique;
