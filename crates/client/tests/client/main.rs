//! The client on a real Redis.

mod deleting;
mod failing;
mod gathering;
mod history;
mod inspecting;
mod middleware;
mod periodic;
mod process_states;
mod pushing;
mod status;
mod support;
mod surveying;
mod threads;
mod unique;
mod walking;
