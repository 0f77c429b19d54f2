//! A running swarm: obeys the [`Supervisor`]'s commands, and tells it what happens.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cogworker_server::exit_code;
use cogworker_server::logging::LogHandle;
use cogworker_server::supervised::{Order, Report, rss_kb_of};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::{error, info, warn};

use crate::adopted;
use crate::child::{Heard, WorkerProcess, end_of};
use crate::health::SwarmHealth;
use crate::notes::Notes;
use crate::service::Service;
use crate::signals::Signals;
use crate::supervisor::{Command, Event, Request, Rules, Signal, Supervisor, WorkerId};

/// How often memory is looked at.
const MEMORY_PERIOD: Duration = Duration::from_secs(2);

/// For an embedding program: a replacement that is not ready after so long has failed. Long, as a start may wait for a
/// database, and nothing is lost meanwhile: the old worker still works.
const BOOT_LIMIT: Duration = Duration::from_secs(300);

/// A worker's default.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(25);

/// How long a stopping worker has beyond what its jobs have: to abort them, settle, and give back (`docs/signals.md`).
const GRACE: Duration = Duration::from_secs(10);

/// A swarm that can be [run](crate::run): which program, with which flags, how often.
///
/// ```no_run
/// use cogworker_swarm::Swarm;
///
/// let swarm = Swarm::new("/srv/app/current/worker")
///     .args(["--concurrency=10", "--queue=default"])
///     .count(4)
///     .phased_restart(true);
/// # let _: std::process::ExitCode = cogworker_swarm::run(swarm);
/// ```
#[derive(Debug)]
#[must_use = "a swarm does nothing until it is run"]
pub struct Swarm {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) rules: Rules,
    log: LogHandle,
    pub(crate) health_bind: Option<SocketAddr>,
}

impl Swarm {
    /// A swarm of workers of this program: one for each core, restarted all at once, with any memory.
    ///
    /// The program is one whose `main` is [`cogworker_server::main`]. A path that is not absolute is looked for from the
    /// current folder.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let count = std::thread::available_parallelism().map_or(1, NonZero::get);
        let stop_grace = SHUTDOWN_TIMEOUT + GRACE;
        let rules = Rules { count, phased: false, boot_limit: BOOT_LIMIT, stop_grace, memory_limit_kb: None };
        Self {
            program: std::path::absolute(&program).unwrap_or(program),
            args: Vec::new(),
            rules,
            log: LogHandle::default(),
            health_bind: None,
        }
    }

    /// A swarm of workers that are this very program, started with the same flags; [`is_worker`](crate::is_worker)
    /// tells them apart.
    ///
    /// # Errors
    /// When the system does not tell where the program is.
    pub fn of_this_program() -> io::Result<Self> {
        // Now: once the file is replaced the system would name the old one.
        Ok(Self::new(std::env::current_exe()?).args(std::env::args_os().skip(1)))
    }

    /// The flags that each worker gets, in place of all named before.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// How many workers there are; at least 1.
    pub fn count(mut self, workers: usize) -> Self {
        self.rules.count = workers.max(1);
        self
    }

    /// Whether USR2 replaces one worker after the other, each only when its successor is ready.
    pub fn phased_restart(mut self, phased: bool) -> Self {
        self.rules.phased = phased;
        self
    }

    /// A worker whose resident memory grows above so many MB (1024² bytes) is replaced. Linux only.
    pub fn memory_limit(mut self, megabytes: u64) -> Self {
        self.rules.memory_limit_kb = Some(megabytes.saturating_mul(1024));
        self
    }

    /// A replacement that is not ready after so long has failed: the old worker stays. By default 300 s.
    pub fn boot_timeout(mut self, limit: Duration) -> Self {
        self.rules.boot_limit = limit;
        self
    }

    /// How long running jobs have when a worker stops, as the workers are configured: 10 s later they are killed. By
    /// default 25 s.
    pub fn shutdown_timeout(mut self, limit: Duration) -> Self {
        self.rules.stop_grace = limit + GRACE;
        self
    }

    /// The log that HUP opens again.
    pub fn log(mut self, log: LogHandle) -> Self {
        self.log = log;
        self
    }

    /// Where health checks are answered, for all workers together; by default nowhere.
    pub fn health_bind(mut self, address: SocketAddr) -> Self {
        self.health_bind = Some(address);
        self
    }

    pub(crate) fn run(self) -> ExitCode {
        // One thread is enough, and whatever blocks it shows in the service manager's watchdog.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime.and_then(|runtime| runtime.block_on(Running::new(self).run()));
        match outcome {
            Ok(code) => code.into(),
            Err(error) => {
                error!("failed to run the swarm: {error}");
                exit_code::FAILURE.into()
            }
        }
    }
}

struct Running {
    swarm: Swarm,
    supervisor: Supervisor,
    began: Instant,
    workers: BTreeMap<WorkerId, WorkerProcess>,
    heard: (UnboundedSender<Heard>, UnboundedReceiver<Heard>),
    service: Service,
    notes: Notes,
    health: Arc<SwarmHealth>,
    exit: Option<u8>,
}

impl Running {
    fn new(swarm: Swarm) -> Self {
        Self {
            supervisor: Supervisor::new(swarm.rules),
            swarm,
            began: Instant::now(),
            workers: BTreeMap::new(),
            heard: unbounded_channel(),
            service: Service::default(),
            notes: Notes::default(),
            health: Arc::default(),
            exit: None,
        }
    }

    async fn run(mut self) -> io::Result<u8> {
        let mut signals = Signals::install()?;
        let mut ends = signal(SignalKind::child())?;
        let mut watchdog = ticks(Service::watchdog_period());
        let mut memory = ticks(self.swarm.rules.memory_limit_kb.map(|_| MEMORY_PERIOD));
        let (pid, count) = (std::process::id(), self.swarm.rules.count);
        info!("swarm {pid} runs {count} workers of {}", self.swarm.program.display());
        if let Some(address) = self.swarm.health_bind {
            self.health.clone().answer_at(address)?;
        }
        self.happened(Event::Tick);
        loop {
            if let Some(code) = self.exit {
                info!("the swarm has stopped");
                return Ok(code);
            }
            let due = self.supervisor.next_wake().map(|due| due.saturating_sub(self.began.elapsed()));
            tokio::select! {
                request = signals.next() => self.request(request),
                _ = ends.recv() => self.look_for_ends(),
                Some(heard) = self.heard.1.recv() => self.hear(heard),
                () = sleep(due.unwrap_or_default()), if due.is_some() => self.happened(Event::Tick),
                () = watchdog.next() => self.service.watchdog(),
                () = memory.next() => self.look_at_memory(),
            }
        }
    }

    fn request(&mut self, request: Request) {
        if request == Request::Forward(Signal::Hup) {
            match self.swarm.log.reopen() {
                Ok(()) => info!("reopened the log file"),
                Err(error) => warn!("failed to reopen the log file: {error}"),
            }
        }
        self.happened(Event::Request(request));
    }

    fn hear(&mut self, (worker, report): Heard) {
        match report {
            Report::Ready => self.happened(Event::Ready { worker }),
            Report::Serves(serves) => self.health.serves(worker, serves),
            Report::Recovers { identity } => self.happened(Event::Recovers { worker, identity }),
            Report::Recovered { identity } => self.happened(Event::Recovered { identity }),
        }
    }

    fn look_for_ends(&mut self) {
        let ended: Vec<_> =
            self.workers.iter_mut().filter_map(|(id, worker)| Some((*id, worker.ended()?))).collect();
        // Whose number may be another's from now on gets no signal any more.
        let ended: Vec<_> = ended
            .into_iter()
            .filter_map(|(id, status)| Some((id, status, self.workers.remove(&id)?)))
            .collect();
        adopted::reap(|pid| self.workers.values().any(|worker| worker.pid() == pid));
        for (id, status, worker) in ended {
            // What it said before comes before.
            while let Ok(heard) = self.heard.1.try_recv() {
                self.hear(heard);
            }
            self.notes.ending(id, status, worker.last_lines());
            self.happened(Event::Ended { worker: id, end: end_of(status) });
            self.notes.over(id);
            self.health.ended(id);
        }
    }

    fn look_at_memory(&mut self) {
        let found = self.workers.iter().map(|(id, worker)| (*id, rss_kb_of(worker.pid())));
        for (worker, kb) in found.collect::<Vec<_>>() {
            if let Some(kb) = kb {
                self.happened(Event::Memory { worker, kb });
            }
        }
    }

    /// Tells the supervisor, and does what follows; that may bring about more.
    fn happened(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for command in self.supervisor.handle(self.began.elapsed(), event) {
                events.extend(self.obey(command));
            }
        }
    }

    fn obey(&mut self, command: Command) -> Option<Event> {
        match command {
            Command::Spawn { worker, place, quiet } => return Some(self.spawn(worker, place, quiet)),
            Command::Signal { worker, signal } => {
                if let Some(worker) = self.workers.get(&worker) {
                    worker.signal(signal);
                }
            }
            Command::TellDead { worker, identity } => {
                if let Some(worker) = self.workers.get(&worker) {
                    worker.tell(&Order::Dead { identity });
                }
            }
            Command::Log(note) => self.notes.log(note),
            Command::Status(status) => {
                self.service.status(status);
                self.health.status(status);
            }
            Command::Exit { clean } => {
                self.exit = Some(if clean { exit_code::CLEAN } else { exit_code::FAILURE });
            }
        }
        None
    }

    fn spawn(&mut self, id: WorkerId, place: usize, quiet: bool) -> Event {
        let program = (self.swarm.program.as_path(), self.swarm.args.as_slice());
        match WorkerProcess::start(id, program, quiet, &self.heard.0) {
            Ok(worker) => {
                info!("worker {} starts in place {place}", worker.pid());
                let identity = worker.identity.clone();
                self.health.started(id, worker.pid(), identity.clone());
                self.notes.started(id, worker.pid());
                self.workers.insert(id, worker);
                Event::Started { worker: id, identity }
            }
            Err(error) => {
                let program = self.swarm.program.display();
                error!("failed to start a worker in place {place}: {program}: {error}");
                Event::NotStarted { worker: id }
            }
        }
    }
}

/// Ticks that may never come.
struct Ticks(Option<tokio::time::Interval>);

fn ticks(period: Option<Duration>) -> Ticks {
    Ticks(period.map(|period| {
        let mut interval = interval(period);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval
    }))
}

impl Ticks {
    async fn next(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            None => std::future::pending().await,
        }
    }
}
