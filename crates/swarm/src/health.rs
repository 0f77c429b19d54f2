//! What a swarm tells about itself over HTTP: one address for all its workers.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cogworker_server::supervised::{Check, Checks, serve};
use serde::Serialize;
use tracing::info;

use crate::supervisor::{Status, WorkerId};

#[derive(Debug, Default)]
pub(crate) struct SwarmHealth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    status: Status,
    workers: BTreeMap<WorkerId, WorkerState>,
}

#[derive(Debug, Serialize)]
struct WorkerState {
    pid: u32,
    identity: String,
    /// As its own `/ready` would say.
    ready: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    pid: u32,
    count: usize,
    ready: usize,
    restarting: bool,
    stopping: bool,
    reasons: &'a [String],
    workers: Vec<&'a WorkerState>,
}

impl SwarmHealth {
    /// Answers until the process ends. On the thread that does everything: if that is stuck, no check is answered.
    pub(crate) fn answer_at(self: Arc<Self>, address: SocketAddr) -> io::Result<()> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("answer health checks at {address}: {error}"))
        };
        let listener = std::net::TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        info!("health checks are answered at http://{}", listener.local_addr()?);
        tokio::spawn(serve(listener, self, std::future::pending()));
        Ok(())
    }

    pub(crate) fn started(&self, id: WorkerId, pid: u32, identity: String) {
        self.lock().workers.insert(id, WorkerState { pid, identity, ready: false });
    }

    pub(crate) fn serves(&self, id: WorkerId, serves: bool) {
        if let Some(worker) = self.lock().workers.get_mut(&id) {
            worker.ready = serves;
        }
    }

    pub(crate) fn ended(&self, id: WorkerId) {
        self.lock().workers.remove(&id);
    }

    pub(crate) fn status(&self, status: Status) {
        self.lock().status = status;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Checks for SwarmHealth {
    /// Ready is a swarm with one ready worker: with fewer than all it is slower, but a service without it has none.
    fn check(&self) -> Check {
        let state = self.lock();
        let Status { count, restarting, stopping, .. } = state.status;
        let ready = state.workers.values().filter(|worker| worker.ready).count();
        let mut reasons = Vec::new();
        if stopping {
            reasons.push("stopping".to_owned());
        } else if ready == 0 {
            reasons.push(format!("none of {} workers is ready", state.workers.len()));
        }
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            count,
            ready,
            restarting,
            stopping,
            reasons: &reasons,
            workers: state.workers.values().collect(),
        };
        let json = serde_json::to_string(&report).unwrap_or_default();
        Check { live: true, ready: reasons.is_empty(), reasons, json }
    }
}
