//! What can go wrong between us and Redis, sorted by what a caller can do about it.

use fred::error::{Error as FredError, ErrorKind};

/// A failed Redis call. The messages fit after "failed to …".
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RedisError {
    /// The settings cannot be used: fix them.
    #[error("use the redis settings: {0}")]
    Config(String),
    /// There is no Redis: the client keeps its jobs in memory, for a test.
    #[error("ask redis: the client is one for tests, which has none")]
    Absent,
    /// The server refused the credentials: fix them.
    #[error("authenticate with redis: {0}")]
    Auth(String),
    /// The connection broke, or there is none. The call may or may not have been carried out.
    #[error("reach redis: {0}")]
    Disconnected(String),
    /// No reply came in time. The call may or may not have been carried out, now or later.
    #[error("get redis' reply in time: {0}")]
    TimedOut(String),
    /// The reply belongs to another call, or makes no sense; the connection was replaced.
    /// The call may or may not have been carried out.
    #[error("match redis' reply to its call: {0}")]
    Desynchronised(String),
    /// The server is up but not serving now (`READONLY`, `LOADING`, `MASTERDOWN`, `TRYAGAIN`,
    /// `BUSY`, `CLUSTERDOWN`; `NOREPLICAS` and `MISCONF`, when it refuses every write for the data's
    /// safety): try again (OUT-01).
    #[error("be served by redis: {0}")]
    NotServing(String),
    /// Redis reached its memory limit (`OOM`): nothing was written.
    #[error("write to redis: {0}")]
    OutOfMemory(String),
    /// A key holds another type than it should.
    #[error("use a redis key: {0}")]
    WrongType(String),
    /// The server does not know the command; it is older than the feature.
    #[error("run a redis command: {0}")]
    UnknownCommand(String),
    /// A blocking call was ended by `CLIENT UNBLOCK`.
    #[error("wait on redis: {0}")]
    Unblocked(String),
    /// Any other error reply.
    #[error("run a redis command: {0}")]
    Refused(String),
    /// A reply of another shape than the command gives.
    #[error("read redis' reply: expected {expected}, found {found}")]
    UnexpectedReply {
        /// What the command gives.
        expected: &'static str,
        /// What came.
        found: String,
    },
}

impl RedisError {
    /// True while Redis is away or not serving: worth trying again, and worth one log line for
    /// the whole outage rather than one for each call (OUT-01, OUT-02).
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Disconnected(_) | Self::TimedOut(_) | Self::Desynchronised(_) | Self::NotServing(_)
        )
    }

    /// True when the call may have been carried out all the same. Repeating a write is then
    /// only safe if the write itself recognises the repeat.
    pub fn fate_is_unknown(&self) -> bool {
        matches!(
            self,
            Self::Disconnected(_)
                | Self::TimedOut(_)
                | Self::Desynchronised(_)
                | Self::UnexpectedReply { .. }
        )
    }

    /// True when the connection must be replaced: its replies cannot be trusted any more, or it
    /// leads to a server that does not serve, while a new one may lead to the server that does (P-50).
    pub(super) fn condemns_connection(&self) -> bool {
        match self {
            Self::TimedOut(_) | Self::Desynchronised(_) => true,
            Self::NotServing(text) => {
                matches!(error_code(text), "READONLY" | "LOADING" | "MASTERDOWN" | "CLUSTERDOWN")
            }
            _ => false,
        }
    }

    /// Sorts an error text as Redis sends it, by its first word; inside script errors too. Scripts'
    /// wrappers take errors by [`Replies::error`](super::Replies::error), which minds the connection.
    pub(super) fn from_reply(text: &str) -> Self {
        let owned = || text.to_owned();
        match error_code(text) {
            "READONLY" | "LOADING" | "MASTERDOWN" | "TRYAGAIN" | "BUSY" | "CLUSTERDOWN" | "MOVED" | "ASK"
            | "NOREPLICAS" | "MISCONF" => Self::NotServing(owned()),
            "OOM" => Self::OutOfMemory(owned()),
            "WRONGTYPE" => Self::WrongType(owned()),
            "UNBLOCKED" => Self::Unblocked(owned()),
            "NOAUTH" | "WRONGPASS" | "NOPERM" => Self::Auth(owned()),
            _ if text.contains("unknown command") || text.contains("Unknown Redis command") => {
                Self::UnknownCommand(owned())
            }
            _ => Self::Refused(owned()),
        }
    }

    pub(super) fn from_fred(error: &FredError) -> Self {
        let details = words(error.details()).to_owned();
        match error.kind() {
            ErrorKind::Config | ErrorKind::Url | ErrorKind::Tls => Self::Config(details),
            ErrorKind::Auth => Self::Auth(details),
            ErrorKind::Timeout => Self::TimedOut(details),
            ErrorKind::Protocol | ErrorKind::Parse => Self::Desynchronised(details),
            ErrorKind::IO
            | ErrorKind::Canceled
            | ErrorKind::Routing
            | ErrorKind::Sentinel
            | ErrorKind::Backpressure => Self::Disconnected(details),
            _ if is_reply(&details) => Self::from_reply(&details),
            // The library's own words ("Too many failed write attempts."): the call may have been sent.
            _ => Self::Disconnected(details),
        }
    }

    /// The reason alone.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Config(reason)
            | Self::Auth(reason)
            | Self::Disconnected(reason)
            | Self::TimedOut(reason)
            | Self::Desynchronised(reason)
            | Self::NotServing(reason)
            | Self::OutOfMemory(reason)
            | Self::WrongType(reason)
            | Self::UnknownCommand(reason)
            | Self::Unblocked(reason)
            | Self::Refused(reason) => reason.clone(),
            Self::Absent | Self::UnexpectedReply { .. } => self.to_string(),
        }
    }

    pub(super) fn is_noscript(error: &FredError) -> bool {
        error.details().starts_with("NOSCRIPT")
    }
}

/// A system's error in its own words: the library gives what `Debug` makes of it.
fn words(details: &str) -> &str {
    let of = |kind: &str, opening: &str| {
        let (_, rest) = details.strip_prefix(kind)?.split_once(opening)?;
        rest.strip_suffix("\" }")
    };
    of("Os {", "message: \"").or_else(|| of("Custom {", "error: \"")).unwrap_or(details)
}

/// True for the text of an error reply, which starts with a code in capitals.
fn is_reply(text: &str) -> bool {
    let code = error_code(text);
    code.len() > 1
        && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The code an error reply starts with. Redis 6 wraps the code of a command that failed inside
/// a script: `ERR Error running script (call to f_…): @user_script:1: -READONLY …`.
fn error_code(text: &str) -> &str {
    let first = text.trim_start_matches('-').split_whitespace().next().unwrap_or("");
    if first == "ERR" || first.starts_with("@user_script") {
        const INNER: [&str; 11] = [
            "READONLY",
            "LOADING",
            "MASTERDOWN",
            "TRYAGAIN",
            "BUSY",
            "CLUSTERDOWN",
            "NOREPLICAS",
            "MISCONF",
            "OOM",
            "WRONGTYPE",
            "NOSCRIPT",
        ];
        let inner = text.split_whitespace().map(|word| word.trim_start_matches('-'));
        let mut inner = inner.filter_map(|word| INNER.iter().find(|code| **code == word));
        return inner.next().copied().unwrap_or(first);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_by_the_first_word_of_a_reply() {
        for text in [
            "READONLY You can't write against a read only replica.",
            "LOADING Redis is loading the dataset in memory",
            "MASTERDOWN Link with MASTER is down",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "BUSY Redis is busy running a script.",
            "NOREPLICAS Not enough good replicas to write.",
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
            "ERR Error running script (call to f_ab): @user_script:3: -READONLY You can't write",
        ] {
            assert!(RedisError::from_reply(text).is_outage(), "{text}");
        }
    }

    #[test]
    fn a_server_that_does_not_serve_condemns_the_connection_wherever_the_error_stands_p_50() {
        for text in [
            "READONLY You can't write against a read only replica.",
            "READONLY You can't write against a read only replica. script: ab, on @user_script:9.",
            "ERR Error running script (call to f_ab): @user_script:3: @user_script: 3: -READONLY You can't",
            "@user_script: 3: -READONLY You can't write against a read only replica.",
            "-LOADING Redis is loading the dataset in memory",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "CLUSTERDOWN The cluster is down",
        ] {
            assert!(RedisError::from_reply(text).condemns_connection(), "{text}");
        }
        for text in ["BUSY Redis is busy running a script.", "TRYAGAIN Multiple keys", "OOM", "ERR READONLY?"]
        {
            assert!(!RedisError::from_reply(text).condemns_connection(), "{text}");
        }
        assert!(RedisError::TimedOut("5 s".into()).condemns_connection());
        assert!(!RedisError::Disconnected("closed".into()).condemns_connection());
    }

    #[test]
    fn a_systems_error_is_told_in_its_own_words() {
        let refused = r#"Os { code: 111, kind: ConnectionRefused, message: "Connection refused" }"#;
        assert_eq!(words(refused), "Connection refused");
        let unknown = r#"Custom { kind: Uncategorized, error: "failed to lookup address information" }"#;
        assert_eq!(words(unknown), "failed to lookup address information");
        for other in ["OOM command not allowed", "Os {", "Kind(UnexpectedEof)", ""] {
            assert_eq!(words(other), other);
        }
    }

    #[test]
    fn other_replies_are_no_outage() {
        for text in [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "BUSYKEY Target key name already exists.",
            "BUSYGROUP Consumer Group name already exists",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "ERR value is not an integer or out of range",
        ] {
            assert!(!RedisError::from_reply(text).is_outage(), "{text}");
        }
    }

    #[test]
    fn what_the_client_library_says_itself_is_no_refusal() {
        for text in [
            "Too many failed write attempts.",
            "Failed to route command.",
            "No response!",
            "Missing response.",
        ] {
            let error = RedisError::from_fred(&FredError::new(ErrorKind::Unknown, text));
            assert!(error.fate_is_unknown() && error.is_outage(), "{text}: {error:?}");
        }
        for text in ["ERR value is not an integer", "OOM command not allowed", "NOSCRIPT No matching script."]
        {
            let error = RedisError::from_fred(&FredError::new(ErrorKind::Unknown, text));
            assert!(!error.fate_is_unknown(), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_refusal_has_a_known_fate_and_a_lost_reply_has_not() {
        assert!(!RedisError::from_reply("OOM command not allowed").fate_is_unknown());
        assert!(RedisError::TimedOut("5 s".into()).fate_is_unknown());
        assert!(RedisError::Disconnected("closed".into()).fate_is_unknown());
    }
}
