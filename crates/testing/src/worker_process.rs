//! A worker program run as a process of its own, to be watched and signalled from outside.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use cogworker_local_redis::ParentWatch;

use crate::worker_log::{Found, WorkerLog};
use crate::{SignalError, signal, wait_until};

/// Why a worker process did not do what was waited for. The messages show its log, since that is where the
/// reason stands.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerProcessError {
    /// The program could not be started.
    #[error("start {program}")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The line did not come in time.
    #[error("see {text:?} in the worker's log within {deadline:?}; the log:\n{log}")]
    LogLate {
        /// What was looked for.
        text: String,
        /// How long.
        deadline: Duration,
        /// All that was logged.
        log: String,
    },
    /// The worker closed its output before it wrote the line.
    #[error("see {text:?} in the worker's log: its output ended; the log:\n{log}")]
    LogEnded {
        /// What was looked for.
        text: String,
        /// All that was logged.
        log: String,
    },
    /// The worker was still running at the deadline.
    #[error("see the worker end within {deadline:?}; the log:\n{log}")]
    StillRunning {
        /// How long was waited.
        deadline: Duration,
        /// All that was logged.
        log: String,
    },
    /// The system would not say how the worker ended.
    #[error("wait for the worker's end")]
    Wait(#[from] io::Error),
}

/// A running worker program, in a process group of its own.
///
/// Dropping it kills the whole group, so also what the worker started and left in it; so does the end of the
/// test process, however it ends.
///
/// ```no_run
/// use std::path::Path;
/// use std::time::Duration;
/// use cogworker_testing::{TestRedis, WorkerProcess};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let redis = TestRedis::start()?;
/// let mut worker = WorkerProcess::spawn(Path::new("target/debug/example-worker"), &redis.url(), ["-c", "2"])?;
/// worker.wait_for_log("is working on", Duration::from_secs(10))?;
/// worker.signal("TERM")?;
/// assert!(worker.wait(Duration::from_secs(30))?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    log: WorkerLog,
    status: Option<ExitStatus>,
    // Called off as soon as the process is reaped, because its id may then be given to another.
    watch: Option<ParentWatch>,
    /// Where in the log [`wait_for_next_log`](Self::wait_for_next_log) goes on.
    position: usize,
}

impl WorkerProcess {
    /// Starts `program` with `args` and `REDIS_URL` set to `redis_url`.
    ///
    /// # Errors
    /// [`WorkerProcessError::Spawn`].
    pub fn spawn<S: AsRef<OsStr>>(
        program: &Path,
        redis_url: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Self, WorkerProcessError> {
        let mut command = Command::new(program);
        command.args(args).env("REDIS_URL", redis_url);
        Self::spawn_command(command)
    }

    /// Starts a command that the test has prepared itself (environment, folder). Its input is empty, and both
    /// its outputs are captured.
    ///
    /// # Errors
    /// [`WorkerProcessError::Spawn`].
    pub fn spawn_command(mut command: Command) -> Result<Self, WorkerProcessError> {
        let program = command.get_program().to_string_lossy().into_owned();
        Self::launch(&mut command).map_err(|source| WorkerProcessError::Spawn { program, source })
    }

    fn launch(command: &mut Command) -> io::Result<Self> {
        let watch = ParentWatch::start(None)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        // From here on an early return drops, and so kills, what was started.
        let mut worker =
            Self { child, log: WorkerLog::default(), status: None, watch: Some(watch), position: 0 };
        if let Some(watch) = &mut worker.watch {
            watch.watch(worker.child.id())?;
        }
        if let Some(stdout) = worker.child.stdout.take() {
            worker.log.collect(stdout)?;
        }
        if let Some(stderr) = worker.child.stderr.take() {
            worker.log.collect(stderr)?;
        }
        Ok(worker)
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Every line written so far, on either output, in order of arrival.
    pub fn log(&self) -> Vec<String> {
        self.log.lines()
    }

    /// Waits until a line, old or new, contains `text`, and returns it.
    ///
    /// # Errors
    /// When the deadline passes, or at once when the worker's output ends before the line.
    pub fn wait_for_log(&self, text: &str, deadline: Duration) -> Result<String, WorkerProcessError> {
        self.look_for(text, 0, deadline).map(|(line, _)| line)
    }

    /// Like [`wait_for_log`](Self::wait_for_log), but only in the lines after the one that the last call
    /// of this method returned: for lines that come again and again.
    ///
    /// # Errors
    /// As [`wait_for_log`](Self::wait_for_log).
    pub fn wait_for_next_log(
        &mut self,
        text: &str,
        deadline: Duration,
    ) -> Result<String, WorkerProcessError> {
        let (line, position) = self.look_for(text, self.position, deadline)?;
        self.position = position;
        Ok(line)
    }

    fn look_for(
        &self,
        text: &str,
        from: usize,
        deadline: Duration,
    ) -> Result<(String, usize), WorkerProcessError> {
        let (found, position) = self.log.wait_for(text, from, deadline);
        let text = text.to_owned();
        match found {
            Found::Line(line) => Ok((line, position)),
            Found::Closed => Err(WorkerProcessError::LogEnded { text, log: self.whole_log() }),
            Found::Late => Err(WorkerProcessError::LogLate { text, deadline, log: self.whole_log() }),
        }
    }

    /// Sends a signal by name, `"TERM"` or `"SIGTERM"`, to the worker alone (not to its group).
    ///
    /// # Errors
    /// [`SignalError::Ended`] when the worker was seen to have ended, [`SignalError::Unknown`] for a strange name.
    pub fn signal(&self, name: &str) -> Result<(), SignalError> {
        if self.status.is_some() {
            return Err(SignalError::Ended(name.to_owned()));
        }
        signal::send_signal(self.child.id(), name)
    }

    /// Freezes the worker (SIGSTOP), as a virtual machine that is moved or a laptop that sleeps: when this returns,
    /// no thread of it runs. Its connections stay open.
    ///
    /// # Errors
    /// [`SignalError::Ended`] when the worker was seen to have ended.
    pub fn pause(&self) -> Result<(), SignalError> {
        if self.status.is_some() {
            return Err(SignalError::Ended("STOP".to_owned()));
        }
        signal::freeze(self.child.id())
    }

    /// Lets a paused worker go on (SIGCONT).
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn resume(&self) -> Result<(), SignalError> {
        self.signal("CONT")
    }

    /// Ends the worker as a crash would (SIGKILL), and waits for it. What it started lives on until this value is
    /// dropped. A worker that has ended already stays so.
    pub fn kill(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            self.watch = None;
            self.status = self.child.wait().ok();
        }
    }

    /// Waits for the worker to end by itself.
    ///
    /// # Errors
    /// [`WorkerProcessError::StillRunning`] at the deadline.
    pub fn wait(&mut self, deadline: Duration) -> Result<ExitStatus, WorkerProcessError> {
        let mut outcome = Ok(self.status);
        let ended = wait_until(deadline, || {
            if matches!(outcome, Ok(None)) {
                outcome = self.child.try_wait();
            }
            !matches!(outcome, Ok(None))
        });
        if ended {
            self.watch = None;
            self.status = outcome?;
        }
        self.status.ok_or_else(|| WorkerProcessError::StillRunning { deadline, log: self.whole_log() })
    }

    /// Whether the worker has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.wait(Duration::ZERO).is_err()
    }

    fn whole_log(&self) -> String {
        self.log.lines().join("\n")
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Also after the worker's own end: what it left behind still forms the group.
        signal::kill_group(self.child.id());
        self.kill();
    }
}
