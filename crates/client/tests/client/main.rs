//! The client on a real Redis.

mod deleting;
mod history;
mod inspecting;
mod middleware;
mod periodic;
mod pushing;
mod status;
mod support;
mod surveying;
mod unique;
mod walking;
