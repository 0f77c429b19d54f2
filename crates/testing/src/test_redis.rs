//! A Redis server of one test's own.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::certificates::CA_CERTIFICATE;
use crate::ports::PORT_ATTEMPTS;
use crate::server_process::{ServerProcess, read_log};
use crate::{RedisBinary, Resp, RespError, RespValue, TestRedisError, TestRedisOptions, signal};

/// How long a server may take to leave after `SHUTDOWN` before it is killed.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// How long one command of [`TestRedis::command`] may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// A private Redis server: own folder, unix socket, and TCP port on 127.0.0.1.
///
/// Dropping it kills the server and removes the folder; so does the end of the test process, however it ends.
/// All methods take `&self`, so one server can be shared by threads and tasks while one of them plays an outage.
#[derive(Debug)]
pub struct TestRedis {
    binary: RedisBinary,
    pub(crate) options: TestRedisOptions,
    port: u16,
    /// The port of the server it replicates.
    pub(crate) primary: Mutex<Option<u16>>,
    // Before the folder: fields are dropped in this order.
    running: Mutex<Option<ServerProcess>>,
    folder: TempDir,
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
            Some(version) => RedisBinary::locate_version(version)?,
            None => RedisBinary::locate()?,
        };
        let folder = tempfile::Builder::new().prefix("cogworker-redis-").tempdir()?;
        if let Some(tls) = &options.tls {
            tls.provide(folder.path()).map_err(TestRedisError::Certificates)?;
        }
        let running = Mutex::new(None);
        let mut redis = Self { binary, port: 0, primary: Mutex::new(None), running, folder, options };
        if let Some(port) = redis.options.port {
            redis.port = port;
            redis.launch()?;
            return Ok(redis);
        }
        let mut attempt = 1;
        loop {
            redis.port = fastrand::u16(redis.options.ports());
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

    /// The URL over TCP, with the password if one is demanded: `redis://:secret@127.0.0.1:23456`; with
    /// [`TestRedisOptions::tls`] it starts with `rediss`.
    pub fn url(&self) -> String {
        self.tcp_url(&self.credentials())
    }

    /// The URL over TCP for a user of [`TestRedisOptions::user`]: `redis://worker:secret@127.0.0.1:23456`.
    /// `None` when there is no such user.
    pub fn url_of(&self, user: &str) -> Option<String> {
        let user = self.options.users.iter().find(|known| known.name == user)?;
        Some(self.tcp_url(&format!("{}:{}@", user.name, user.password)))
    }

    fn tcp_url(&self, credentials: &str) -> String {
        let scheme = if self.options.tls.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://{credentials}127.0.0.1:{}", self.port)
    }

    /// The certificate to trust (PEM), which vouches for the server's; `None` without [`TestRedisOptions::tls`].
    pub fn ca_certificate(&self) -> Option<PathBuf> {
        self.options.tls.as_ref().map(|_| self.folder.path().join(CA_CERTIFICATE))
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
        self.running().as_ref().map(|running| running.id())
    }

    /// Whether the server's process is there (a paused one is), also after it ended by itself.
    pub fn is_running(&self) -> bool {
        self.running().as_mut().is_some_and(|running| matches!(running.end(), Ok(None)))
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        read_log(&self.log_path())
    }

    /// Ends the server in an orderly way (`SHUTDOWN NOSAVE`); one that does not leave within 5 s is killed.
    /// A server that is already stopped stays so.
    pub fn stop(&self) {
        let Some(running) = self.running().take() else { return };
        // A paused server would hear nothing.
        let _ = signal::send_signal(running.id(), "CONT");
        // A server that leaves closes the connection instead of answering: that error is the success.
        let _ = self.command(&["SHUTDOWN", "NOSAVE"]);
        running.leave(STOP_DEADLINE);
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
        Ok(signal::freeze(self.pid().ok_or(TestRedisError::NotRunning)?)?)
    }

    /// Lets a paused server go on (SIGCONT).
    ///
    /// # Errors
    /// [`TestRedisError::NotRunning`] when it is stopped.
    pub fn resume(&self) -> Result<(), TestRedisError> {
        Ok(signal::send_signal(self.pid().ok_or(TestRedisError::NotRunning)?, "CONT")?)
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
    /// As [`TestRedis::connect`]. An error that Redis answers is a [`RespValue::Error`].
    pub fn command(&self, args: &[impl AsRef<[u8]>]) -> Result<RespValue, RespError> {
        self.connect()?.command(args)
    }

    /// [`command`](Self::command) for assertions: `assert_eq!(redis.cli(&["LLEN", "q"]), 3)`.
    ///
    /// # Panics
    /// When the server cannot be reached, which fails the test at the line of the call.
    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion: a test that cannot look at Redis has to fail there")]
    pub fn cli(&self, args: &[impl AsRef<[u8]>]) -> RespValue {
        match self.command(args) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        }
    }

    /// One field of Redis's `INFO`, such as `"used_memory"`; `None` when there is no such field.
    ///
    /// # Errors
    /// As [`TestRedis::command`].
    pub fn info(&self, field: &str) -> Result<Option<String>, RespError> {
        let info = self.command(&["INFO", "all"])?;
        let lines = info.as_str().unwrap_or_default().lines();
        let value = |line: &str| line.strip_prefix(field)?.strip_prefix(':').map(str::to_owned);
        Ok(lines.filter_map(value).next())
    }

    /// A command that has to be answered with `OK`.
    pub(crate) fn order(&self, args: &[&str]) -> Result<(), TestRedisError> {
        let reply = self.command(args)?;
        if reply == "OK" { Ok(()) } else { Err(TestRedisError::Refused { command: args.join(" "), reply }) }
    }

    fn connect_within(&self, timeout: Duration) -> Result<Resp, RespError> {
        let mut connection = Resp::unix(&self.socket(), timeout)?;
        if let Some(password) = &self.options.password {
            connection.command(&["AUTH", password])?;
        }
        Ok(connection)
    }

    fn launch(&self) -> Result<(), TestRedisError> {
        // A killed server leaves its socket behind, and that would look like one that refuses to answer.
        let _ = fs::remove_file(self.socket());
        let primary = *self.primary.lock().unwrap_or_else(PoisonError::into_inner);
        let arguments = self.options.arguments(self.port, &self.socket(), self.folder.path(), primary);
        let mut command = Command::new(self.binary.server());
        let process = ServerProcess::spawn(command.args(arguments), self.folder.path(), &self.log_path())?;
        // Asked over the socket, which is ours alone: a stranger on the same port cannot answer in its place.
        let process = process.ready(&self.log_path(), || {
            let pong = self.connect_within(COMMAND_TIMEOUT).and_then(|mut redis| redis.command(&["PING"]));
            pong.is_ok_and(|reply| reply == "PONG")
        })?;
        *self.running() = Some(process);
        Ok(())
    }

    fn credentials(&self) -> String {
        self.options.password.as_ref().map(|password| format!(":{password}@")).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("redis.log")
    }

    /// A test that panicked with the lock held leaves nothing half done behind it.
    fn running(&self) -> MutexGuard<'_, Option<ServerProcess>> {
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
        TestRedisError::Ended { log, .. } => {
            log.contains("Address already in use") || log.contains("Failed listening on port")
        }
        _ => false,
    }
}
