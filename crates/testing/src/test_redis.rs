//! A Redis server of one test's own.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::parent_watch::ParentWatch;
use crate::ports::{PORT_ATTEMPTS, PORTS};
use crate::{
    RedisBinary, RedisBinaryError, Resp, RespError, SignalError, TestRedisOptions, Value, signal, wait_until,
};

/// How long a server may take to answer. Normal is a hundredth of a second; loading a large append-only file
/// on a busy machine is the exception.
const START_DEADLINE: Duration = Duration::from_secs(20);

/// How long a server may take to leave after `SHUTDOWN` before it is killed.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// How long one command of [`TestRedis::command`] may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a test's Redis server did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestRedisError {
    /// There is no server program.
    #[error("get a Redis server to start")]
    Binary(#[from] RedisBinaryError),
    /// A file, folder or process could not be made.
    #[error("start a test Redis")]
    Io(#[from] io::Error),
    /// The server ended while it started.
    #[error("start a test Redis: it ended with {status}; its log:\n{log}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote.
        log: String,
    },
    /// The server did not answer in time.
    #[error("start a test Redis: no answer within {START_DEADLINE:?}; its log:\n{log}")]
    Silent {
        /// What it wrote.
        log: String,
    },
    /// The server is not running.
    #[error("reach the test Redis: it is not running")]
    NotRunning,
    /// A signal could not be sent to it.
    #[error("signal the test Redis")]
    Signal(#[from] SignalError),
}

/// A private Redis server: own folder, unix socket, and TCP port on 127.0.0.1.
///
/// Dropping it kills the server and removes the folder; so does the end of the test process, however it ends.
/// All methods take `&self`, so one server can be shared by threads and tasks while one of them plays an outage.
#[derive(Debug)]
pub struct TestRedis {
    binary: RedisBinary,
    options: TestRedisOptions,
    port: u16,
    // Before the folder: fields are dropped in this order.
    running: Mutex<Option<Running>>,
    folder: TempDir,
}

#[derive(Debug)]
struct Running {
    child: Child,
    watch: ParentWatch,
}

impl Running {
    /// The child is killed but not yet reaped when the watch is called off: the watch can never meet a
    /// process that was given the same id later.
    fn kill(mut self) {
        let _ = self.child.kill();
        signal::kill_group(self.child.id());
        drop(self.watch);
        let _ = self.child.wait();
    }
}

impl TestRedis {
    /// Starts a server with the default [`TestRedisOptions`] and returns when it answers.
    ///
    /// # Errors
    /// When there is no server program and none can be fetched, or it ends or stays silent; the error shows its log.
    pub fn start() -> Result<Self, TestRedisError> {
        Self::start_with(TestRedisOptions::new())
    }

    pub(crate) fn start_with(options: TestRedisOptions) -> Result<Self, TestRedisError> {
        let binary = match &options.version {
            Some(version) => RedisBinary::version(version)?,
            None => RedisBinary::locate()?,
        };
        let folder = tempfile::Builder::new().prefix("cogworker-redis-").tempdir()?;
        let mut redis = Self { binary, port: 0, running: Mutex::new(None), folder, options };
        if let Some(port) = redis.options.port {
            redis.port = port;
            redis.launch()?;
            return Ok(redis);
        }
        let mut attempt = 1;
        loop {
            redis.port = fastrand::u16(PORTS);
            let free = TcpListener::bind(("127.0.0.1", redis.port)).is_ok();
            // Between this look and the server's own bind another process may take the port: try the next one.
            let outcome =
                if free { redis.launch() } else { Err(io::Error::from(io::ErrorKind::AddrInUse).into()) };
            match outcome {
                Ok(()) => return Ok(redis),
                Err(error) if attempt == PORT_ATTEMPTS || !is_port_clash(&error) => return Err(error),
                Err(_) => attempt += 1,
            }
        }
    }

    /// The URL over TCP, with the password if one is demanded: `redis://:secret@127.0.0.1:23456`.
    pub fn url(&self) -> String {
        format!("redis://{}127.0.0.1:{}", self.credentials(), self.port)
    }

    /// The URL over the unix socket: `redis+unix:///tmp/…/redis.sock`, after a password `redis+unix://:secret@local/…`.
    pub fn unix_url(&self) -> String {
        let credentials = self.credentials();
        let host = if credentials.is_empty() { "" } else { "local" };
        format!("redis+unix://{credentials}{host}{}", self.socket().display())
    }

    /// The path of the unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// The TCP port; the same after every [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's folder, which holds its log and data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server program in use, and its command-line client.
    pub fn binary(&self) -> &RedisBinary {
        &self.binary
    }

    /// The server's process id; `None` while it is stopped.
    pub fn pid(&self) -> Option<u32> {
        self.running().as_ref().map(|running| running.child.id())
    }

    /// Whether the server's process is there (a paused one is), also after it ended by itself.
    pub fn is_running(&self) -> bool {
        self.running().as_mut().is_some_and(|running| matches!(running.child.try_wait(), Ok(None)))
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        fs::read(self.log_path()).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }

    /// Ends the server in an orderly way (`SHUTDOWN NOSAVE`); one that does not leave within 5 s is killed.
    /// A server that is already stopped stays so.
    pub fn stop(&self) {
        let Some(mut running) = self.running().take() else { return };
        // A paused server would hear nothing.
        let _ = signal::send(running.child.id(), "CONT");
        // A server that leaves closes the connection instead of answering: that error is the success.
        let _ = self.command(&["SHUTDOWN", "NOSAVE"]);
        let left = wait_until(STOP_DEADLINE, || !matches!(running.child.try_wait(), Ok(None)));
        if left { drop(running.watch) } else { running.kill() }
    }

    /// Ends the server as a crash would (SIGKILL).
    pub fn kill(&self) {
        if let Some(running) = self.running().take() {
            running.kill();
        }
    }

    /// Starts the server again on the same port, socket and folder; one that still runs is stopped first.
    /// Data are kept only with [`TestRedisOptions::appendonly`].
    ///
    /// # Errors
    /// As [`TestRedis::start`].
    pub fn restart(&self) -> Result<(), TestRedisError> {
        self.stop();
        self.launch()
    }

    /// Freezes the server (SIGSTOP): connections stay open and get no answer.
    ///
    /// # Errors
    /// [`TestRedisError::NotRunning`] when it is stopped.
    pub fn pause(&self) -> Result<(), TestRedisError> {
        self.signal("STOP")
    }

    /// Lets a paused server go on (SIGCONT).
    ///
    /// # Errors
    /// [`TestRedisError::NotRunning`] when it is stopped.
    pub fn resume(&self) -> Result<(), TestRedisError> {
        self.signal("CONT")
    }

    /// Removes all data, scripts and functions included: what a fresh server would hold.
    ///
    /// # Errors
    /// As [`TestRedis::command`].
    pub fn flush(&self) -> Result<(), RespError> {
        let mut connection = self.connect()?;
        connection.command(&["FLUSHALL"])?;
        connection.command(&["SCRIPT", "FLUSH"])?;
        Ok(())
    }

    /// Opens a connection of the test's own, signed in, whose reads wait up to 5 s.
    ///
    /// # Errors
    /// [`RespError::Connect`] while the server is stopped, [`RespError::Io`] while it is paused.
    pub fn connect(&self) -> Result<Resp, RespError> {
        self.connect_within(COMMAND_TIMEOUT)
    }

    /// Sends one command over a connection of its own.
    ///
    /// # Errors
    /// As [`TestRedis::connect`]. An error that Redis answers is a [`Value::Error`].
    pub fn command(&self, args: &[impl AsRef<[u8]>]) -> Result<Value, RespError> {
        self.connect()?.command(args)
    }

    /// [`command`](Self::command) for assertions: `assert_eq!(redis.cli(&["LLEN", "q"]), 3)`.
    ///
    /// # Panics
    /// When the server cannot be reached, which fails the test at the line of the call.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion: a test that cannot look at Redis has to fail there")]
    pub fn cli(&self, args: &[impl AsRef<[u8]>]) -> Value {
        match self.command(args) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        }
    }

    fn connect_within(&self, timeout: Duration) -> Result<Resp, RespError> {
        let mut connection = Resp::unix(&self.socket(), timeout)?;
        if let Some(password) = &self.options.password {
            connection.command(&["AUTH", password])?;
        }
        Ok(connection)
    }

    fn signal(&self, name: &str) -> Result<(), TestRedisError> {
        let pid = self.pid().ok_or(TestRedisError::NotRunning)?;
        Ok(signal::send(pid, name)?)
    }

    fn launch(&self) -> Result<(), TestRedisError> {
        // A killed server leaves its socket behind, and that would look like one that refuses to answer.
        let _ = fs::remove_file(self.socket());
        let log = File::options().create(true).append(true).open(self.log_path())?;
        let mut watch = ParentWatch::start(Some(self.folder.path()))?;
        let mut child = Command::new(self.binary.server())
            .args(self.arguments())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Away from the terminal's group: Ctrl-C is for the test alone.
            .process_group(0)
            .spawn()?;
        if let Err(error) = watch.watch(child.id()) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error.into());
        }
        let mut running = Running { child, watch };
        match self.wait_until_ready(&mut running.child) {
            Ok(()) => {
                *self.running() = Some(running);
                Ok(())
            }
            Err(error) => {
                running.kill();
                Err(error)
            }
        }
    }

    /// Asks over the socket, which is ours alone: a stranger on the same port cannot answer in the server's place.
    fn wait_until_ready(&self, child: &mut Child) -> Result<(), TestRedisError> {
        let end = Instant::now() + START_DEADLINE;
        while Instant::now() < end {
            let pong = self.connect_within(COMMAND_TIMEOUT).and_then(|mut redis| redis.command(&["PING"]));
            if pong.is_ok_and(|reply| reply == "PONG") {
                return Ok(());
            }
            if let Some(status) = child.try_wait()? {
                return Err(TestRedisError::Ended { status, log: self.log() });
            }
            // Finer than `wait_until`: every test waits here, and a server needs only some milliseconds.
            thread::sleep(Duration::from_millis(1));
        }
        Err(TestRedisError::Silent { log: self.log() })
    }

    fn arguments(&self) -> Vec<std::ffi::OsString> {
        let mut arguments: Vec<std::ffi::OsString> = Vec::new();
        let mut set = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
            arguments.push(format!("--{name}").into());
            arguments.push(value.as_ref().into());
        };
        set("bind", &"127.0.0.1");
        set("port", &self.port.to_string());
        set("unixsocket", &self.socket());
        set("unixsocketperm", &"700");
        set("dir", &self.folder.path());
        set("save", &"");
        set("appendonly", &if self.options.appendonly { "yes" } else { "no" });
        set("appendfsync", &"always");
        set("daemonize", &"no");
        if let Some(bytes) = self.options.maxmemory {
            set("maxmemory", &bytes.to_string());
        }
        if let Some(password) = &self.options.password {
            set("requirepass", password);
        }
        arguments.extend(self.options.extra.iter().cloned());
        arguments
    }

    fn credentials(&self) -> String {
        self.options.password.as_ref().map(|password| format!(":{password}@")).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("redis.log")
    }

    /// A test that panicked with the lock held leaves nothing half done behind it.
    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its address over TCP, for [`FaultProxy`](crate::FaultProxy) and for any client that takes an address.
impl ToSocketAddrs for TestRedis {
    type Iter = std::iter::Once<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(std::iter::once(SocketAddr::from(([127, 0, 0, 1], self.port))))
    }
}

impl Drop for TestRedis {
    fn drop(&mut self) {
        self.kill();
    }
}

fn is_port_clash(error: &TestRedisError) -> bool {
    match error {
        TestRedisError::Io(error) => error.kind() == io::ErrorKind::AddrInUse,
        TestRedisError::Ended { log, .. } => log.contains("Address already in use"),
        _ => false,
    }
}
