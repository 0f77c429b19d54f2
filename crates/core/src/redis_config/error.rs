//! What can be wrong with a Redis configuration.

use std::fmt;

/// A part of a Redis configuration that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RedisPart {
    /// What stands before `://`.
    Scheme,
    /// A host name or address.
    Host,
    /// A TCP port.
    Port,
    /// The ACL user.
    Username,
    /// The password.
    Password,
    /// The database number.
    Db,
    /// The path of a unix socket.
    Path,
    /// The name of the primary that Sentinels watch.
    Service,
    /// What follows `?` in a url.
    Query,
    /// What follows `#` in a url.
    Fragment,
    /// Encryption.
    Tls,
    /// The prefix of every key.
    KeyPrefix,
    /// The bound on one attempt to connect.
    ConnectTimeout,
    /// The bound on one command.
    CommandTimeout,
}

impl fmt::Display for RedisPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "scheme",
            Self::Host => "host",
            Self::Port => "port",
            Self::Username => "username",
            Self::Password => "password",
            Self::Db => "db",
            Self::Path => "path",
            Self::Service => "service",
            Self::Query => "query",
            Self::Fragment => "fragment",
            Self::Tls => "tls",
            Self::KeyPrefix => "key_prefix",
            Self::ConnectTimeout => "connect_timeout",
            Self::CommandTimeout => "command_timeout",
        })
    }
}

/// A Redis configuration that cannot work; never shows a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedisConfigError {
    /// A part holds something else than it may.
    #[error("{place}: {part}: expected {expected}, found {found}")]
    Invalid {
        /// Where the value came from: `redis`, or the name of a variable.
        place: &'static str,
        /// Which part of it is wrong.
        part: RedisPart,
        /// What is accepted there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A variable holds bytes that are not Unicode.
    #[error("{place}: expected unicode text, found other bytes")]
    NotUnicode {
        /// The name of the variable.
        place: &'static str,
    },
    /// A variable that nobody reads, whose name is nearly that of one.
    #[error("{place}: no such variable; did you mean {hint}?")]
    Misnamed {
        /// The name of the variable.
        place: &'static str,
        /// The one that is read.
        hint: &'static str,
    },
}

impl RedisConfigError {
    pub(super) fn invalid(part: RedisPart, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Invalid { place: "redis", part, expected: expected.into(), found: found.into() }
    }

    /// The same error, found at `place`.
    pub(super) fn at(self, place: &'static str) -> Self {
        match self {
            Self::Invalid { part, expected, found, .. } => Self::Invalid { place, part, expected, found },
            Self::NotUnicode { .. } => Self::NotUnicode { place },
            Self::Misnamed { hint, .. } => Self::Misnamed { place, hint },
        }
    }
}
