//! A worker executable under a test's control.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::wait::wait_until;

/// A running worker; killed when dropped.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl WorkerProcess {
    /// Starts `program` with `REDIS_URL` set to `redis_url`. Its output is kept.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(program: &Path, redis_url: &str, args: &[&str]) -> std::io::Result<Self> {
        Self::spawn_with(program, redis_url, args, &[])
    }

    /// Like [`spawn`](Self::spawn), with further environment variables.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn_with(
        program: &Path,
        redis_url: &str,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .args(args)
            .env("REDIS_URL", redis_url)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        if let Some(output) = child.stdout.take() {
            collect(output, lines.clone());
        }
        if let Some(errors) = child.stderr.take() {
            collect(errors, lines.clone());
        }
        Ok(Self { child, lines })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has written so far.
    pub fn log(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has written a line that contains `text`.
    #[must_use = "a test should fail when the line did not come"]
    pub fn wait_for_log(&self, text: &str, limit: Duration) -> bool {
        wait_until(limit, || self.log().iter().any(|line| line.contains(text)))
    }

    /// Sends a signal, such as `TERM`.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn signal(&self, name: &str) -> std::io::Result<()> {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status()?;
        if status.success() { Ok(()) } else { Err(std::io::Error::other("kill was refused")) }
    }

    /// Kills it with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn kill(&mut self) -> std::io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Waits until it exits by itself; `None` when it does not within `limit`.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn wait(&mut self, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
        let mut ended = Ok(None);
        let _ = wait_until(limit, || {
            ended = self.child.try_wait();
            !matches!(ended, Ok(None))
        });
        ended
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn collect(output: impl Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
}
