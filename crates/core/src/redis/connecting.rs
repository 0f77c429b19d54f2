//! How attempts to connect end, and why, in words that say what to do about it.

use fred::clients::Client;
use fred::error::Error as FredError;
use fred::interfaces::EventInterface;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use super::RedisError;
use crate::redis_config::{RedisConfig, Topology};

/// What is known of a client's attempts to connect.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// A connection has stood, if not now.
    pub(super) ever_connected: bool,
    /// Why the last attempt failed, until one succeeds.
    pub(super) failure: Option<RedisError>,
}

/// Keeps the end of each attempt, which a call that waits for a connection does not learn: it only times
/// out. Needs a tokio runtime.
pub(super) fn watch(client: &Client, config: &RedisConfig, attempts: watch::Sender<Attempts>) {
    let mut errors = client.error_rx();
    let mut connections = client.reconnect_rx();
    let config = config.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                error = errors.recv() => match error {
                    Ok((error, _)) => attempts.send_modify(|attempts| {
                        attempts.failure = Some(failure(&error, &config, attempts.ever_connected));
                    }),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                connected = connections.recv() => match connected {
                    Ok(_) | Err(RecvError::Lagged(_)) => {
                        attempts.send_replace(Attempts { ever_connected: true, failure: None });
                    }
                    Err(RecvError::Closed) => return,
                },
            }
        }
    });
}

/// Why an attempt failed. What the first attempts meet is mostly a slip in the address, and is told as one.
pub(super) fn failure(error: &FredError, config: &RedisConfig, ever_connected: bool) -> RedisError {
    let reason = RedisError::from_fred(error);
    if ever_connected {
        return reason;
    }
    match reason {
        RedisError::Desynchronised(reason) | RedisError::UnexpectedReply { found: reason, .. } => {
            RedisError::Disconnected(format!("what answers is no redis server: {reason}"))
        }
        // An encrypted greeting means nothing to a server without TLS, which waits for its end; others send
        // an answer in their own words.
        RedisError::TimedOut(_) => too_slow(config),
        RedisError::Disconnected(reason) if config.tls && reason.contains("InvalidMessage") => {
            RedisError::Disconnected(format!("{reason}; {NO_TLS}"))
        }
        // A server with TLS hangs up on a greeting that is not encrypted.
        RedisError::Disconnected(reason) if may_need_tls(config) && is_hang_up(&reason) => {
            RedisError::Disconnected(format!("{reason}; if it speaks TLS, the url has to begin with rediss"))
        }
        other => other,
    }
}

/// No attempt has ended within the connect timeout.
pub(super) fn too_slow(config: &RedisConfig) -> RedisError {
    let hint = if config.tls { format!("; {NO_TLS}") } else { String::new() };
    RedisError::TimedOut(format!("no connection after {:?}{hint}", config.connect_timeout))
}

const NO_TLS: &str = "does it speak TLS, as the url's rediss asks for?";

fn may_need_tls(config: &RedisConfig) -> bool {
    !config.tls && !matches!(config.topology, Topology::Unix { .. })
}

fn is_hang_up(reason: &str) -> bool {
    ["Connection reset", "closed", "UnexpectedEof", "Broken pipe"].iter().any(|sign| reason.contains(sign))
}
