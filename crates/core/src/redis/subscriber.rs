//! Pub/sub: messages on channels, for as long as the subscriber lives.

use std::fmt;
use std::time::Duration;

use fred::clients::SubscriberClient;
use fred::interfaces::{ClientLike, EventInterface, PubsubInterface};
use fred::types::{Message, Value};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{RedisError, hardened};
use crate::redis_config::RedisConfig;

/// How a message to ourselves starts.
const PROBE: &str = "cogworker:probe:";

/// How long it may be on its way.
const ECHO_LIMIT: Duration = Duration::from_secs(2);

/// The pause before a failed subscription is tried again: an outage ends by itself, a refusal lasts.
const AGAIN_AFTER: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Listens on channels; subscribes again by itself after a reconnect. Messages sent meanwhile
/// are lost, as pub/sub goes.
pub struct Subscriber {
    client: SubscriberClient,
    messages: Receiver<Message>,
    attempts: UnboundedReceiver<Result<(), RedisError>>,
    resubscribing: JoinHandle<()>,
}

/// What a subscriber hears.
#[derive(Debug, Clone)]
pub enum Heard {
    /// From now on messages come; those sent before are lost. Comes again after each reconnect.
    Subscribed,
    /// The subscription failed; it is tried again.
    Failed(RedisError),
    /// A channel and a text.
    Message(String, String),
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").finish_non_exhaustive()
    }
}

/// Subscribes, and makes sure of it: the library takes a subscription for made once it is sent, and a
/// server that is busy refuses it without cutting the connection. So a message has to come back.
async fn subscribe(client: &SubscriberClient, channels: &[String], number: u64) -> Result<(), RedisError> {
    let Some(channel) = channels.first() else { return Ok(()) };
    let mut messages = client.message_rx();
    let probe = format!("{PROBE}{}:{number}", client.id());
    let sent = async {
        client.subscribe(channels.to_vec()).await?;
        client.publish::<Value, _, _>(channel.as_str(), probe.as_str()).await
    };
    sent.await.map_err(|error| RedisError::from_fred(&error))?;
    let echo = async {
        loop {
            match messages.recv().await {
                Ok(message) if message.value.as_str().as_deref() == Some(&probe) => return Ok(()),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(RedisError::Disconnected("closed".into())),
            }
        }
    };
    let silent = |_| RedisError::TimedOut(format!("no message came back from {channel}"));
    timeout(ECHO_LIMIT, echo).await.map_err(silent)?
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
        let (outcomes, attempts) = mpsc::unbounded_channel();
        let resubscribing = tokio::spawn(async move {
            let mut number: u64 = 0;
            while !matches!(connections.recv().await, Err(RecvError::Closed)) {
                number += 1;
                let subscribed = subscribe(&subscribing, &channels, number).await;
                let (outage, refusal) = AGAIN_AFTER;
                let pause = match &subscribed {
                    Ok(()) => None,
                    Err(error) if error.is_outage() => Some(outage),
                    Err(_) => Some(refusal),
                };
                let _ = outcomes.send(subscribed);
                if let Some(pause) = pause {
                    // Anew from the connection on, as replies may have lost their order on this one.
                    sleep(pause).await;
                    let _ = timeout(Duration::from_millis(500), subscribing.force_reconnection()).await;
                }
            }
        });
        Ok(Self { client, messages, attempts, resubscribing })
    }

    /// What comes next. `None` once the subscriber is closed.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            let message = tokio::select! {
                biased;
                Some(attempt) = self.attempts.recv() => {
                    return Some(attempt.map_or_else(Heard::Failed, |()| Heard::Subscribed));
                }
                message = self.messages.recv() => message,
            };
            match message {
                Ok(message) => {
                    let text = message.value.into_string().unwrap_or_default();
                    if text.starts_with(PROBE) {
                        continue;
                    }
                    return Some(Heard::Message(message.channel.to_string(), text));
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
