//! One worker process: its start, its line, its signals, its end.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use cogworker_server::supervised::{CHILD_VAR, Order, Report, identity_of};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use tokio::sync::mpsc::UnboundedSender;
use tracing::warn;

use crate::output::{LastLines, to_stderr, to_stdout};
use crate::supervisor::{self, End, WorkerId};

/// What a service manager tells this process is not for the workers.
const SERVICE_VARS: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"];

/// The last lines of a worker that has ended come so soon.
const LINES_LIMIT: Duration = Duration::from_millis(200);

/// A worker that does not read its line for so long loses it.
const WRITE_LIMIT: Duration = Duration::from_millis(500);

/// What a worker said.
pub(crate) type Heard = (WorkerId, Report);

#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    line: UnixStream,
    lines: LastLines,
    pub(crate) identity: String,
}

impl WorkerProcess {
    /// Starts a worker and tells it who it is. By fork and exec: only a new program image has what was deployed
    /// meanwhile, and no lock of a thread that is not there.
    pub(crate) fn start(
        id: WorkerId,
        (program, args): (&Path, &[OsString]),
        quiet: bool,
        heard: &UnboundedSender<Heard>,
    ) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        line.set_write_timeout(Some(WRITE_LIMIT))?;
        let mut command = Command::new(program);
        command.args(args).env(CHILD_VAR, "1").stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        for var in SERVICE_VARS {
            command.env_remove(var);
        }
        let mut child = command.spawn()?;
        // Nothing of the line's other end is left here, or its end would not be seen.
        drop(command);
        let lines = LastLines::default();
        let identity = identity_of(child.id());
        let hello = Order::Hello { pid: child.id(), quiet, identity: identity.clone() };
        let connected = connect(id, &mut child, &line, &lines, heard).and_then(|()| tell(&line, &hello));
        match connected {
            // A worker that has ended already says more by its end.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
            _ => Ok(Self { child, line, lines, identity }),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn tell(&self, order: &Order) {
        if let Err(error) = tell(&self.line, order) {
            warn!("could not tell worker {} {order}: {error}", self.pid());
        }
    }

    /// It is not reaped yet, so the number is still its own.
    pub(crate) fn signal(&self, signal: supervisor::Signal) {
        let signal = match signal {
            supervisor::Signal::Term => Signal::SIGTERM,
            supervisor::Signal::Int => Signal::SIGINT,
            supervisor::Signal::Tstp => Signal::SIGTSTP,
            supervisor::Signal::Ttin => Signal::SIGTTIN,
            supervisor::Signal::Hup => Signal::SIGHUP,
            supervisor::Signal::Kill => Signal::SIGKILL,
        };
        let pid = Pid::from_raw(self.pid().cast_signed());
        if let Err(error) = signal::kill(pid, signal) {
            warn!("could not send {signal} to worker {pid}: {error}");
        }
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        match self.child.try_wait() {
            Ok(status) => status,
            Err(error) => {
                warn!("could not look after worker {}: {error}", self.pid());
                None
            }
        }
    }

    /// What it wrote last.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.lines.take(LINES_LIMIT)
    }
}

/// What an end means.
pub(crate) fn end_of(status: ExitStatus) -> End {
    match status.signal().and_then(|number| Signal::try_from(number).ok()) {
        Some(Signal::SIGTERM | Signal::SIGINT) => End::Signalled,
        _ if status.success() => End::Clean,
        _ => End::Failed,
    }
}

fn connect(
    id: WorkerId,
    child: &mut Child,
    line: &UnixStream,
    lines: &LastLines,
    heard: &UnboundedSender<Heard>,
) -> io::Result<()> {
    if let Some(stdout) = child.stdout.take() {
        lines.pass_on(stdout, to_stdout)?;
    }
    if let Some(stderr) = child.stderr.take() {
        lines.pass_on(stderr, to_stderr)?;
    }
    let (reader, heard) = (BufReader::new(line.try_clone()?), heard.clone());
    thread::Builder::new().name("swarm-line".into()).spawn(move || {
        for text in reader.lines().map_while(Result::ok) {
            match text.parse() {
                Ok(report) => drop(heard.send((id, report))),
                Err(()) => warn!("ignored an unknown report of a worker: {text}"),
            }
        }
    })?;
    Ok(())
}

fn tell(mut line: &UnixStream, order: &Order) -> io::Result<()> {
    line.write_all(format!("{order}\n").as_bytes())
}
