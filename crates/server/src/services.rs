//! The long-running services beside the engine. Each has a file of its own and the same shape:
//! it runs until its token is cancelled, and survives every Redis error.

pub(crate) mod control;
mod fleet;
pub(crate) mod heartbeat;
pub(crate) mod key_guard;
pub(crate) mod line;
pub(crate) mod poller;
pub(crate) mod recovery;
pub(crate) mod ticker;
pub(crate) mod uncounted;
pub(crate) mod watchdog;

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::error;

/// Starts a service in `set`. One that panics is logged and started again.
pub(crate) fn supervise<F, Fut>(set: &mut JoinSet<()>, name: &'static str, stop: CancellationToken, start: F)
where
    F: Fn(CancellationToken) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    set.spawn(async move {
        loop {
            match tokio::spawn(start(stop.clone())).await {
                Err(fault) if fault.is_panic() && !stop.is_cancelled() => {
                    error!("the {name} panicked and is started again: {fault}");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                _ => return,
            }
        }
    });
}
