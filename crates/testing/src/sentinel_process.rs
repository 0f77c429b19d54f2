//! One running Sentinel.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::ports;
use crate::server_process::ServerProcess;
use crate::{RedisBinary, Resp, RespError, RespValue, TestRedisError};

/// How long one command to a Sentinel may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// A Sentinel looks at its servers every second to every ten seconds; a test does not wait so long. Versions
/// before 7.0 know none of these, and are slower.
///
/// During a failover each server is asked for its state once a second, and two periods have to fit that. A replica
/// that said nothing for five ping periods is not chosen. A server whose role is not what a Sentinel believes for
/// four publish periods is put back in its place: one that was just promoted too, by a Sentinel which has not
/// heard yet of the failover.
const HASTE: [&str; 12] = [
    "info-period",
    "100",
    "publish-period",
    "600",
    "ping-period",
    "300",
    "ask-period",
    "100",
    "min-link-reconnect-period",
    "100",
    "election-timeout",
    "1000",
];

/// A Sentinel with a folder and a port of its own.
#[derive(Debug)]
pub(crate) struct SentinelProcess {
    pub(crate) port: u16,
    process: Mutex<Option<ServerProcess>>,
    folder: TempDir,
}

impl SentinelProcess {
    /// Starts a Sentinel with these lines in its configuration.
    pub(crate) fn start(binary: &RedisBinary, lines: &str) -> Result<Self, TestRedisError> {
        let folder = tempfile::Builder::new().prefix("cogworker-sentinel-").tempdir()?;
        // Held until the moment before the Sentinel takes it.
        let listener = ports::listen()?;
        let port = listener.local_addr()?.port();
        let configuration = folder.path().join("sentinel.conf");
        fs::write(
            &configuration,
            format!("bind 127.0.0.1\nport {port}\ndir {}\n{lines}", folder.path().display()),
        )?;
        drop(listener);
        let sentinel = Self { port, process: Mutex::new(None), folder };
        let log = sentinel.log_path();
        let mut command = Command::new(binary.server());
        let command = command.arg(&configuration).arg("--sentinel");
        let process = ServerProcess::spawn(command, sentinel.folder.path(), &log)?;
        let process = process.ready(&log, || {
            let mut haste = vec!["SENTINEL", "DEBUG"];
            haste.extend(HASTE);
            sentinel.command(&haste).is_ok()
        })?;
        *sentinel.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(sentinel)
    }

    pub(crate) fn command(&self, args: &[impl AsRef<[u8]>]) -> Result<RespValue, RespError> {
        Resp::tcp(self.port, COMMAND_TIMEOUT)?.command(args)
    }

    /// What it knows of the primary; empty when it cannot be asked.
    pub(crate) fn primary(&self, name: &str) -> HashMap<String, String> {
        self.command(&["SENTINEL", "MASTER", name]).map(|reply| fields(&reply)).unwrap_or_default()
    }

    /// What it knows of each replica.
    pub(crate) fn replicas(&self, name: &str) -> Vec<HashMap<String, String>> {
        let reply = self.command(&["SENTINEL", "REPLICAS", name]);
        reply.map(|reply| reply.items().iter().map(fields).collect()).unwrap_or_default()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn kill(&self) {
        if let Some(process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            process.kill();
        }
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.path().join("sentinel.log")
    }
}

impl Drop for SentinelProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Names and values, which alternate in such a reply.
fn fields(reply: &RespValue) -> HashMap<String, String> {
    let strings = reply.strings();
    strings.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}
