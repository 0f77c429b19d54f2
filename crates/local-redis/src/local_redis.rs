//! A Redis server that lasts as long as its starter.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{ParentWatch, RedisBinary, RedisBinaryError};

/// A server answers within milliseconds; a machine may be busy.
const START_DEADLINE: Duration = Duration::from_secs(10);
/// How long it may take to leave before it is killed. It has nothing to save.
const STOP_DEADLINE: Duration = Duration::from_secs(2);
/// Other programs look for a free port at the same time.
const PORT_ATTEMPTS: usize = 20;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalRedisError {
    /// There is no server program.
    #[error(transparent)]
    Binary(#[from] RedisBinaryError),
    /// The port that was asked for is taken.
    #[error("start redis on port {0}: the port is in use")]
    PortInUse(u16),
    /// Its folder could not be made, or its program not be run.
    #[error("start redis: {0}")]
    Io(#[from] io::Error),
    /// It ended by itself.
    #[error("start redis: it ended with {status}; its log:\n{log}")]
    Ended {
        /// How.
        status: ExitStatus,
        /// What it logged.
        log: String,
    },
    /// It did not answer in time.
    #[error("start redis: no answer within {START_DEADLINE:?}; its log:\n{log}")]
    Silent {
        /// What it logged.
        log: String,
    },
}

/// A running server of this program's own, on 127.0.0.1, in memory alone. Dropping it ends the server and removes
/// its folder; so does the end of the program, however it ends.
#[derive(Debug)]
pub struct LocalRedis {
    child: Child,
    watch: Option<ParentWatch>,
    port: u16,
    folder: TempDir,
}

impl LocalRedis {
    /// Starts a server on `port`, or on a free one, and returns when it answers.
    ///
    /// # Errors
    /// When there is no server program and none can be fetched, the port is taken, or the server does not come up.
    pub fn start(port: Option<u16>) -> Result<Self, LocalRedisError> {
        let binary = RedisBinary::locate()?;
        let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if let Some(port) = port {
            return if is_free(port) {
                Self::launch(&binary, port)
            } else {
                Err(LocalRedisError::PortInUse(port))
            };
        }
        let mut attempt = 1;
        loop {
            // Below every system's range for outgoing connections, so that no client can connect to itself there.
            let port = fastrand::u16(10_000..32_000);
            let outcome = if is_free(port) {
                Self::launch(&binary, port)
            } else {
                Err(LocalRedisError::PortInUse(port))
            };
            match outcome {
                Err(LocalRedisError::PortInUse(_)) if attempt < PORT_ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    fn launch(binary: &RedisBinary, port: u16) -> Result<Self, LocalRedisError> {
        let folder = tempfile::Builder::new().prefix("cogworker-redis-").tempdir()?;
        let log = File::create(log_path(folder.path()))?;
        let mut watch = ParentWatch::start(Some(folder.path()))?;
        let child = Command::new(binary.server())
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"])
            .args([std::ffi::OsStr::new("--dir"), folder.path().as_os_str()])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Away from the terminal's group: Ctrl-C is for its starter, which ends it last.
            .process_group(0)
            .spawn()?;
        let group = child.id();
        // From here on an early return drops, and so ends, the server.
        let mut redis = Self { child, watch: None, port, folder };
        watch.watch(group)?;
        redis.watch = Some(watch);
        redis.wait_until_ready()?;
        Ok(redis)
    }

    fn wait_until_ready(&mut self) -> Result<(), LocalRedisError> {
        let deadline = Instant::now() + START_DEADLINE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                let log = self.log();
                if log.contains("Address already in use") || log.contains("Failed listening on port") {
                    return Err(LocalRedisError::PortInUse(self.port));
                }
                return Err(LocalRedisError::Ended { status, log });
            }
            if answers(self.port, self.child.id()) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err(LocalRedisError::Silent { log: self.log() })
    }

    /// Its address, for `REDIS_URL`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, should it have.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read(log_path(self.folder.path()))
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for LocalRedis {
    fn drop(&mut self) {
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), Pid::from_raw(self.child.id().cast_signed())) {
            let _ = kill_process(pid, Signal::TERM);
            let deadline = Instant::now() + STOP_DEADLINE;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.child.kill();
        // At once, as the process's id may be given to another.
        drop(self.watch.take());
        let _ = self.child.wait();
    }
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("redis.log")
}

/// Whether the server with this process id answers there, and not a stranger that took the port meanwhile.
fn answers(port: u16, pid: u32) -> bool {
    let ask = || -> io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"INFO server\r\n")?;
        let (mut reply, mut part) = (Vec::new(), [0; 4096]);
        let wanted = format!("\r\nprocess_id:{pid}\r\n");
        loop {
            let read = stream.read(&mut part)?;
            reply.extend_from_slice(&part[..read]);
            if String::from_utf8_lossy(&reply).contains(&wanted) {
                return Ok(true);
            }
            if read == 0 || reply.len() > 64 * 1024 {
                return Ok(false);
            }
        }
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_and_goes_with_its_folder_when_it_is_dropped() {
        let redis = LocalRedis::start(None).unwrap();
        let (port, folder) = (redis.port, redis.folder.path().to_owned());
        assert_eq!(redis.url(), format!("redis://127.0.0.1:{port}"));
        assert!(answers(port, redis.pid()) && folder.is_dir());
        drop(redis);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() && !folder.exists());
    }

    #[test]
    fn a_port_that_is_taken_is_named_and_nothing_is_left() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = LocalRedis::start(Some(port)).unwrap_err();
        assert_eq!(error.to_string(), format!("start redis on port {port}: the port is in use"));
    }
}
