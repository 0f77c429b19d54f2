//! Access to Redis: the only module that knows the client library behind it.
//!
//! - [`Redis`], the shared connection, for scripts and single commands.
//! - [`Waiter`], a connection of its own for one blocking wait.
//! - [`Subscriber`], for pub/sub.
//! - [`RedisError`], failures sorted by what a caller can do, above all whether the call may
//!   have been carried out ([`RedisError::fate_is_unknown`]).

mod connection;
mod error;
mod hardened;
mod reply;
mod script;
mod subscriber;
mod version;
mod waiter;

pub use connection::Redis;
pub use error::RedisError;
pub use reply::{Replies, Reply};
pub use script::{Arg, Call, IntoArg, Script};
pub use subscriber::{Heard, Subscriber};
pub use version::ServerVersion;
pub use waiter::{Waited, Waiter};
