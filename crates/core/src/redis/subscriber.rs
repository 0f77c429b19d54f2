//! Pub/sub: messages on channels, for as long as the subscriber lives.

use std::fmt;
use std::time::Duration;

use fred::clients::SubscriberClient;
use fred::interfaces::{ClientLike, EventInterface, PubsubInterface};
use fred::types::Message;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{RedisError, hardened};
use crate::redis_config::RedisConfig;

/// Listens on channels; subscribes again by itself after a reconnect. Messages sent meanwhile
/// are lost, as pub/sub goes.
pub struct Subscriber {
    client: SubscriberClient,
    messages: Receiver<Message>,
    resubscribing: JoinHandle<()>,
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").finish_non_exhaustive()
    }
}

impl Subscriber {
    /// Starts connecting and returns at once; the subscriptions are made when the connection
    /// stands.
    pub fn connect_lazily(config: &RedisConfig, channels: Vec<String>) -> Result<Self, RedisError> {
        let client = hardened::subscriber(config)?;
        let messages = client.message_rx();
        let mut connections = client.reconnect_rx();
        let subscribing = client.clone();
        client.connect();
        let resubscribing = tokio::spawn(async move {
            while connections.recv().await.is_ok() {
                let _ = subscribing.subscribe(channels.clone()).await;
            }
        });
        Ok(Self { client, messages, resubscribing })
    }

    /// The next message: channel and text. `None` once the subscriber is closed.
    pub async fn next(&mut self) -> Option<(String, String)> {
        loop {
            match self.messages.recv().await {
                Ok(message) => {
                    let text = message.value.into_string().unwrap_or_default();
                    return Some((message.channel.to_string(), text));
                }
                // Too slow to keep up: the oldest are gone, the newer ones still count.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Unsubscribes and closes the connection.
    pub async fn close(self) {
        self.resubscribing.abort();
        let _ = timeout(Duration::from_millis(500), self.client.quit()).await;
    }
}
