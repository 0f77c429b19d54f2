//! Access to Redis: the only module that knows the client library behind it.
//!
//! - [`Redis`], a shared connection, for [commands](Call) of your own too; [`Reply`] is what comes back.
//! - [`RedisError`], failures sorted by what a caller can do, above all whether the call may
//!   have been carried out ([`RedisError::fate_is_unknown`]).

mod connecting;
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
#[doc(hidden)]
pub use reply::Replies;
pub use reply::Reply;
#[doc(hidden)]
pub use script::Script;
pub use script::{Arg, Call, IntoArg};
#[doc(hidden)]
pub use subscriber::{Heard, Subscriber};
pub use version::ServerVersion;
#[doc(hidden)]
pub use waiter::{Waited, Waiter};
