//! A connection of its own for one blocking wait.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::interfaces::ClientLike;
use fred::types::config::Options;
use fred::types::{ClusterHash, CustomCommand, Value};
use tokio::time::timeout;

use super::{Call, Redis, RedisError, Reply, hardened};
use crate::redis_config::RedisConfig;

/// How much later than Redis the client gives up on a blocking call.
const GRACE: Duration = Duration::from_secs(3);

/// Waits on a list by `BLMOVE` or `BRPOP`; nothing else may share its connection.
pub struct Waiter {
    client: Client,
    client_id: AtomicI64,
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").finish_non_exhaustive()
    }
}

/// What a wait brought.
#[derive(Debug)]
pub struct Waited {
    /// The moved element.
    pub element: Bytes,
    /// True when `name` was a member of the pause set right after the move.
    pub paused: bool,
}

impl Waiter {
    /// Starts connecting and returns at once.
    pub fn connect_lazily(config: &RedisConfig) -> Result<Self, RedisError> {
        let client = hardened::client(config)?;
        client.connect();
        Ok(Self { client, client_id: AtomicI64::new(0) })
    }

    /// Moves the right-most element of the list `source` to the left of `destination`, waiting
    /// up to `block` for one. `None`: nothing came, or [`unblock`](Self::unblock) ended the wait.
    /// Without a destination the element is popped, and lost if its reply is.
    ///
    /// The membership of `name` in the set `pause_set` is asked in the same pipeline: Redis
    /// answers it in the moment after the move, so a pause is seen without a further round trip.
    ///
    /// An error, or dropping the future, leaves a moved element on `destination`: it must be a
    /// list that is reconciled.
    pub async fn wait(
        &self,
        source: &str,
        destination: Option<&str>,
        block: Duration,
        pause_set: &str,
        name: &str,
    ) -> Result<Option<Waited>, RedisError> {
        let options = Options { max_attempts: Some(1), timeout: Some(block + GRACE), ..Default::default() };
        let client = self.client.with_options(&options);
        let identify = async {
            // On the node that has the list, as the wait itself.
            let node = ClusterHash::from(source.as_bytes());
            let command = CustomCommand::new_static("CLIENT", node, false);
            if let Ok(Value::Integer(id)) = client.custom::<Value, _>(command, vec!["ID"]).await {
                self.client_id.store(id, Ordering::Release);
            }
        };
        let seconds = block.as_secs_f64().to_string();
        let (command, args) = match destination {
            Some(destination) => ("BLMOVE", vec![source, destination, "RIGHT", "LEFT", &seconds]),
            None => ("BRPOP", vec![source, &seconds]),
        };
        let block_move =
            client.custom::<Value, _>(CustomCommand::new_static(command, ClusterHash::FirstKey, true), args);
        let is_paused = client.custom::<Value, _>(
            CustomCommand::new_static("SISMEMBER", ClusterHash::FirstKey, false),
            vec![pause_set, name],
        );
        // Polled in this order, so they are written in this order.
        let ((), moved, paused) = tokio::join!(biased; identify, block_move, is_paused);
        self.client_id.store(0, Ordering::Release);
        match moved {
            Ok(Value::Null) => Ok(None),
            Ok(value) => Ok(Some(Waited {
                element: element_of(value)?,
                // An unreadable pause set pauses nothing; the key guard moves it away.
                paused: matches!(paused, Ok(Value::Integer(1) | Value::Boolean(true))),
            })),
            Err(error) => match RedisError::from_fred(&error) {
                RedisError::Unblocked(_) => Ok(None),
                error => {
                    if error.condemns_connection() {
                        self.reset().await;
                    }
                    Err(error)
                }
            },
        }
    }

    /// Ends a wait on `source` that is under way, through another connection. False when Redis did
    /// not find it waiting: not yet, or not any more.
    pub async fn unblock(&self, redis: &Redis, source: &str) -> bool {
        let id = self.client_id.load(Ordering::Acquire);
        if id == 0 {
            return false;
        }
        let call = Call::new().arg("UNBLOCK").arg(id);
        let reply = redis.command_near("CLIENT", source, call).await;
        reply.and_then(|reply| reply.int()).is_ok_and(|ended| ended == 1)
    }

    /// Replaces the connection; a wait under way ends with an error.
    pub async fn reset(&self) {
        let _ = timeout(Duration::from_millis(500), self.client.force_reconnection()).await;
    }

    /// Closes the connection.
    pub async fn close(&self) {
        let _ = timeout(Duration::from_millis(500), self.client.quit()).await;
    }
}

/// `BLMOVE` replies with the element, `BRPOP` with the list and the element.
fn element_of(value: Value) -> Result<Bytes, RedisError> {
    match value {
        Value::Array(mut pair) if pair.len() == 2 => Reply(pair.swap_remove(1)).bytes(),
        value => Reply(value).bytes(),
    }
}
