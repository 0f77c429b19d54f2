//! Hears what others ask of this process, and that something became due early.

use std::sync::Arc;
use std::time::Duration;

use cogworker_core::redis::{Heard, Redis, Subscriber};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::engine::Command;
use crate::outage::Outage;

const PLACE: &str = "listening for control messages";

#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) redis: Redis,
    pub(crate) identity: Arc<str>,
    pub(crate) engine: UnboundedSender<Command>,
    pub(crate) outage: Arc<Outage>,
    pub(crate) poller_wake: Arc<Notify>,
    /// Asks for the whole process's shutdown (BEAT-12).
    pub(crate) stop_process: CancellationToken,
}

impl Control {
    pub(crate) async fn run(self, stop: CancellationToken) {
        let signals = self.redis.keys().signal_channel(&self.identity);
        let wakes = self.redis.keys().wake_channel();
        loop {
            let channels = vec![signals.clone(), wakes.clone()];
            let mut subscriber = match Subscriber::connect_lazily(self.redis.config(), channels) {
                Ok(subscriber) => subscriber,
                Err(failure) => {
                    self.outage.report(PLACE, &failure);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            };
            let over = self.outage.over();
            tokio::pin!(over);
            loop {
                let message = tokio::select! {
                    () = stop.cancelled() => {
                        subscriber.close().await;
                        return;
                    }
                    // The server it listens on may have been demoted meanwhile. Nothing tells a
                    // connection that only listens, so it is replaced.
                    () = &mut over => {
                        subscriber.close().await;
                        break;
                    }
                    message = subscriber.next() => message,
                };
                match message {
                    Some(Heard::Message(channel, text)) if channel == signals => self.obey(&text),
                    Some(Heard::Message(..)) => self.poller_wake.notify_one(),
                    Some(Heard::Subscribed) => {
                        self.outage.recovered(PLACE);
                        // A wake-up that was sent while nobody listened is made up for.
                        self.poller_wake.notify_one();
                    }
                    Some(Heard::Failed(failure)) => self.outage.report(PLACE, &failure),
                    None => break,
                }
            }
            if stop.is_cancelled() {
                return;
            }
        }
    }

    /// PSET-02.
    fn obey(&self, text: &str) {
        info!("told to {text}");
        match text {
            "quiet" => drop(self.engine.send(Command::Quiet)),
            "resume" => drop(self.engine.send(Command::Resume)),
            "stop" => self.stop_process.cancel(),
            other => warn!("ignored an unknown control message: {other}"),
        }
    }
}
