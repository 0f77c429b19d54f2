//! A worker that a swarm has started: its end of the line to the supervisor.
//!
//! The line is the worker's standard input, a socket. By it the supervisor says who the worker is and which
//! of its siblings died, the worker says when it is ready, and either notices the other's end: a
//! process can be killed, but its sockets close all the same. It needs nothing of the kernel beyond that, unlike a
//! parent-death signal, which kills without giving jobs back and fires when a mere *thread* of the parent ends.
//! The variable [`CHILD_VAR`] alone means nothing: a process that a job starts inherits it, but not the line.

mod protocol;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

pub use self::protocol::{CHILD_VAR, Order, Report};
use crate::health::Health;
pub use crate::health::http::{Check, Checks, serve};
use crate::services::recovery::{Recovery, Siblings};
use crate::{exit_code, identity};

/// The supervisor says who the worker is as soon as it has started it.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// How long running jobs have once the supervisor is gone: then they are asked to end, and given back.
const ORPHANED_LIMIT: Duration = Duration::from_millis(500);

/// A worker whose supervisor is gone ends within this time, whatever holds it up.
const ORPHANED_END: Duration = Duration::from_secs(4);

/// How often a ready worker looks at whether it still is.
const SERVES_STEP: Duration = Duration::from_millis(500);

/// How often a worker that starts looks at whether it is ready.
const READY_STEP: Duration = Duration::from_millis(20);

/// A new identity for a worker that this process started.
pub fn identity_of(pid: u32) -> String {
    identity::identity_of(&identity::hostname(), pid)
}

/// Resident memory of a worker, KiB, where the system tells.
pub fn rss_kb_of(pid: u32) -> Option<u64> {
    identity::resident_kb(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// Why a worker cannot work for the swarm that started it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachError {
    #[error("take over the line to the swarm: {0}")]
    Line(#[from] io::Error),
    #[error("hear from the swarm: expected who this process is, found {0:?}")]
    Hello(String),
    #[error(
        "work for the swarm: it started process {expected}, and this is process {found}; a script between them \
         must replace itself by the worker (exec)"
    )]
    AnotherProcess { expected: u32, found: u32 },
}

/// A worker's end of the line, before anything is done with it.
pub(crate) struct Supervised {
    pub(crate) identity: Arc<str>,
    /// It is to take no jobs.
    pub(crate) quiet: bool,
    reader: BufReader<UnixStream>,
    reports: Reports,
}

/// What the worker tells its supervisor.
#[derive(Clone, Debug)]
pub(crate) struct Reports(Arc<Mutex<UnixStream>>);

/// What the parts of a worker need of the line.
#[derive(Debug)]
pub(crate) struct Link {
    /// Identities of siblings that the supervisor saw end.
    dead: UnboundedReceiver<String>,
    reports: Reports,
    orphaned: CancellationToken,
}

impl Supervised {
    /// Takes the line over, if a swarm started this process. Standard input is empty from then on: what
    /// jobs start must not read from the line, nor hold it open.
    pub(crate) fn attach() -> Result<Option<Self>, AttachError> {
        if std::env::var_os(CHILD_VAR).is_none() {
            return Ok(None);
        }
        let line = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        if !line.metadata()?.file_type().is_socket() {
            return Ok(None);
        }
        rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
        let line = UnixStream::from(OwnedFd::from(line));
        line.set_read_timeout(Some(HELLO_LIMIT))?;
        let reports = Reports(Arc::new(Mutex::new(line.try_clone()?)));
        let mut reader = BufReader::new(line);
        let mut text = String::new();
        reader.read_line(&mut text)?;
        let Ok(Order::Hello { pid, quiet, identity }) = text.trim_end().parse() else {
            return Err(AttachError::Hello(text));
        };
        // Or the supervisor would take the end of a script for that of a worker, and have its jobs run twice.
        if pid != std::process::id() {
            return Err(AttachError::AnotherProcess { expected: pid, found: std::process::id() });
        }
        reader.get_ref().set_read_timeout(None)?;
        Ok(Some(Self { identity: identity.into(), quiet, reader, reports }))
    }

    /// Listens on a thread of its own: neither jobs nor the engine hold it up.
    pub(crate) fn listen(self, stop: CancellationToken) -> io::Result<Link> {
        let Self { mut reader, reports, .. } = self;
        let (told, dead) = unbounded_channel();
        let orphaned = CancellationToken::new();
        let link = Link { dead, reports, orphaned: orphaned.clone() };
        thread::Builder::new().name("cogworker-swarm".into()).spawn(move || {
            obey(&mut reader, &told);
            error!("the swarm that started this worker is gone: stopping");
            orphaned.cancel();
            stop.cancel();
            thread::sleep(ORPHANED_END);
            error!("ending though the stop is not over");
            std::process::exit(exit_code::FAILURE.into());
        })?;
        Ok(link)
    }
}

/// Until the line ends.
fn obey(reader: &mut BufReader<UnixStream>, dead: &UnboundedSender<String>) {
    let mut text = String::new();
    while matches!(reader.read_line(&mut text), Ok(length) if length > 0) {
        match text.trim_end().parse() {
            Ok(Order::Dead { identity }) => drop(dead.send(identity)),
            Ok(Order::Hello { .. }) | Err(_) => {
                warn!("ignored an unknown order of the swarm: {}", text.trim_end());
            }
        }
        text.clear();
    }
}

impl Link {
    /// Tells the supervisor when the worker is ready for the first time (as `/ready` does, or quiet because it was told
    /// so), and then whether it still is.
    pub(crate) fn tell_ready(&self, health: Arc<Health>) {
        let reports = self.reports.clone();
        tokio::spawn(async move {
            while !health.report().has_begun() {
                tokio::time::sleep(READY_STEP).await;
            }
            reports.send(&Report::Ready);
            let mut told = None;
            loop {
                let ready = health.report().ready;
                if told.replace(ready) != Some(ready) {
                    reports.send(&Report::Serves(ready));
                }
                tokio::time::sleep(SERVES_STEP).await;
            }
        });
    }

    /// The service that recovers what dead siblings held.
    pub(crate) fn siblings(&mut self, recovery: Recovery) -> Siblings {
        let (_, nothing) = unbounded_channel();
        let dead = std::mem::replace(&mut self.dead, nothing);
        Siblings { recovery, dead: Arc::new(AsyncMutex::new(dead)), reports: self.reports.clone() }
    }

    /// How long running jobs have at a stop.
    pub(crate) fn limit(&self, limit: Duration) -> Duration {
        if self.orphaned.is_cancelled() { limit.min(ORPHANED_LIMIT) } else { limit }
    }
}

impl Reports {
    /// A supervisor that is gone is noticed by who listens.
    pub(crate) fn send(&self, report: &Report) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = line.write_all(format!("{report}\n").as_bytes()) {
            info!("could not tell the swarm {report}: {error}");
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}
