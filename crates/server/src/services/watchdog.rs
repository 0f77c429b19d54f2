//! Looks from a thread of its own at whether the engine's thread turns, and answers the health checks
//! there: neither a job that blocks the engine nor a busy runtime of the application holds them up.
//!
//! Calls to Redis that never end are given up by the engine itself
//! ([`within`](crate::engine::within())); what blocks its thread can only be seen from outside.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cogworker_core::redis::Redis;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{error, info, warn};

use crate::engine::Pulse;
use crate::health::{Health, http, stall_reason};

/// A running watchdog; it ends when this is dropped.
pub(crate) struct Watchdog {
    end: DropGuard,
    ended: oneshot::Receiver<()>,
}

/// The watchdog could not be started.
pub(crate) enum WatchdogError {
    Bind(SocketAddr, io::Error),
    Thread(io::Error),
}

impl Watchdog {
    /// Starts watching, and answering at `address` if there is one.
    pub(crate) fn start(health: Arc<Health>, address: Option<SocketAddr>) -> Result<Self, WatchdogError> {
        let listener = address
            .map(|address| listen(address).map_err(|error| WatchdogError::Bind(address, error)))
            .transpose()?;
        let end = CancellationToken::new();
        let (ending, ended) = oneshot::channel();
        let watched = end.clone();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time();
        if listener.is_some() {
            runtime.enable_io();
        }
        let runtime = runtime.build().map_err(WatchdogError::Thread)?;
        std::thread::Builder::new()
            .name("cogworker-watch".into())
            .spawn(move || {
                runtime.block_on(run(health, listener, watched));
                // Open connections are closed before the end is told.
                drop(runtime);
                let _ = ending.send(());
            })
            .map_err(WatchdogError::Thread)?;
        Ok(Self { end: end.drop_guard(), ended })
    }

    /// Ends it, and waits until its port is free.
    pub(crate) async fn end(self) {
        drop(self.end);
        let _ = self.ended.await;
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    info!("health checks are answered at http://{}", listener.local_addr()?);
    Ok(listener)
}

async fn run(health: Arc<Health>, listener: Option<TcpListener>, end: CancellationToken) {
    let watching = watch(&health);
    let ended = end.cancelled();
    match listener.map(tokio::net::TcpListener::from_std) {
        None => tokio::select! { () = watching => {}, () = ended => {} },
        Some(Ok(listener)) => tokio::select! {
            () = watching => {}
            () = http::serve(listener, health.clone(), ended) => {}
        },
        Some(Err(error)) => {
            error!("failed to answer health checks: {error}");
            tokio::select! { () = watching => {}, () = ended => {} }
        }
    }
}

/// Tells once when the engine's thread stalls, and once when it turns again.
async fn watch(health: &Health) {
    let (pulse, limits) = (&health.pulse, &health.limits);
    let period = limits.turn;
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut looked = Instant::now();
    let mut stalled_since: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let now = Instant::now();
        // When this thread did not run either, the whole process was stopped.
        let process_ran = now - looked < period * 3;
        looked = now;
        if health.is_building() {
            continue;
        }
        let vitals = pulse.vitals(pulse.now());
        if vitals.stalled_for < limits.stall {
            if let Some(since) = stalled_since.take() {
                warn!("the engine's thread turns again after {:.1} s", since.elapsed().as_secs_f64());
            }
        } else if stalled_since.is_none() && process_ran {
            stalled_since = Some(now.checked_sub(vitals.stalled_for).unwrap_or(now));
            error!("{}; no job is fetched or settled meanwhile", stall_reason(&vitals));
        }
    }
}

/// Shows on the engine's thread that it turns, also while the engine itself is not there yet or
/// any more; and whether the connection stands, which an idle worker would notice late.
pub(crate) async fn keep_turning(pulse: Arc<Pulse>, redis: Redis, period: Duration) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let now = pulse.now();
        pulse.thread_turned(now);
        pulse.connected(redis.is_connected(), now);
    }
}
