//! A running server program.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cogworker_local_redis::ParentWatch;

use crate::test_redis_error::START_DEADLINE;
use crate::{TestRedisError, signal, wait_until};

/// A server in a process group of its own, whose output goes to a file in its folder. It ends, and its folder
/// goes, with the test process; dropping the value alone leaves it running.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    watch: ParentWatch,
}

impl ServerProcess {
    /// Starts `command` in `folder`, which is removed should the test process die. `log` is appended to.
    pub(crate) fn spawn(command: &mut Command, folder: &Path, log: &Path) -> io::Result<Self> {
        let output = File::options().create(true).append(true).open(log)?;
        let mut watch = ParentWatch::start(Some(folder))?;
        let mut child = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // Away from the terminal's group: Ctrl-C is for the test alone.
            .process_group(0)
            .spawn()?;
        if let Err(error) = watch.watch(child.id()) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(Self { child, watch })
    }

    /// Waits until `answers` is true; a server that ends instead, or stays silent, is killed.
    pub(crate) fn ready(mut self, log: &Path, answers: impl Fn() -> bool) -> Result<Self, TestRedisError> {
        match self.wait_until_ready(log, answers) {
            Ok(()) => Ok(self),
            Err(error) => {
                self.kill();
                Err(error)
            }
        }
    }

    fn wait_until_ready(&mut self, log: &Path, answers: impl Fn() -> bool) -> Result<(), TestRedisError> {
        let end = Instant::now() + START_DEADLINE;
        while Instant::now() < end {
            if answers() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(TestRedisError::Ended { status, log: read_log(log) });
            }
            // Finer than `wait_until`: every test waits here, and a server needs only some milliseconds.
            thread::sleep(Duration::from_millis(1));
        }
        Err(TestRedisError::Silent { log: read_log(log) })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for a server that was told to leave; one that is late is killed.
    pub(crate) fn leave(mut self, deadline: Duration) {
        let left = wait_until(deadline, || !matches!(self.end(), Ok(None)));
        if left { drop(self.watch) } else { self.kill() }
    }

    /// The child is killed but not yet reaped when the watch is called off: the watch can never meet a
    /// process that was given the same id later.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        signal::kill_group(self.child.id());
        drop(self.watch);
        let _ = self.child.wait();
    }
}

/// All of a log, as far as it is there.
pub(crate) fn read_log(path: &Path) -> String {
    fs::read(path).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
}
