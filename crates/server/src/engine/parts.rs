//! What an engine is put together from.

use std::sync::Arc;

use cogworker_core::redis::Redis;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

use super::command::Command;
use super::gauges::Gauges;
use super::lease::Lease;
use super::pulse::Pulse;
use crate::app::Registry;
use crate::config::Config;
use crate::deaths::Deaths;
use crate::health::HealthLimits;
use crate::outage::Outage;
use crate::run::RunScope;

/// What an engine is made of.
pub(crate) struct EngineParts {
    pub(crate) redis: Redis,
    pub(crate) identity: Arc<str>,
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) scope: Arc<RunScope>,
    pub(crate) jobs: tokio::runtime::Handle,
    pub(crate) gauges: Arc<Gauges>,
    pub(crate) outage: Arc<Outage>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) commands: UnboundedReceiver<Command>,
    /// Told of new retries, which may be due before all others.
    pub(crate) poller_wake: Arc<Notify>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) limits: HealthLimits,
    pub(crate) deaths: Deaths,
}
