//! A Redis server of the test's own.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::redis_binary::{RedisBinary, RedisBinaryError};
use crate::resp::{RespClient, RespError, Value};
use crate::wait::wait_until;

/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(10);

/// The server could not be started or controlled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestRedisError {
    /// There is no executable.
    #[error("start a private redis: failed to {0}")]
    Binary(#[from] RedisBinaryError),
    /// The system refused.
    #[error("start a private redis: {0}")]
    Io(#[from] std::io::Error),
    /// It did not answer.
    #[error("start a private redis: no answer on port {port} after {} s; its log ends with: {log}", START_LIMIT.as_secs())]
    NoAnswer {
        /// Its port.
        port: u16,
        /// The end of its log.
        log: String,
    },
    /// A command could not be sent.
    #[error(transparent)]
    Command(#[from] RespError),
}

/// A Redis server with a folder and a port of its own, stopped and removed when dropped. Should
/// the test's process die without that, the server ends by itself.
///
/// ```
/// use cogworker_testing::TestRedis;
///
/// let redis = TestRedis::start()?;
/// redis.command(&["SET", "greeting", "hello"])?;
/// assert_eq!(redis.command(&["GET", "greeting"])?.text(), "hello");
/// # Ok::<(), cogworker_testing::TestRedisError>(())
/// ```
#[derive(Debug)]
pub struct TestRedis {
    builder: TestRedisBuilder,
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

/// How a [`TestRedis`] is started.
#[derive(Debug, Clone, Default)]
pub struct TestRedisBuilder {
    binary: Option<PathBuf>,
    args: Vec<String>,
    port: Option<u16>,
}

impl TestRedisBuilder {
    /// Another executable, for example of another version.
    #[must_use]
    pub fn binary(mut self, server: &Path) -> Self {
        self.binary = Some(server.to_owned());
        self
    }

    /// A server option, as in `--maxmemory 20mb`.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.args.push(format!("--{name}"));
        self.args.push(value.to_owned());
        self
    }

    /// A port of the caller's choice.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Errors
    /// When there is no executable, or it does not answer in time.
    pub fn start(self) -> Result<TestRedis, TestRedisError> {
        let folder = tempfile::Builder::new().prefix("cogworker-redis-").tempdir()?;
        let port = match self.port {
            Some(port) => port,
            None => free_port()?,
        };
        let mut redis = TestRedis { builder: self, folder, port, child: None };
        redis.spawn()?;
        Ok(redis)
    }
}

impl TestRedis {
    /// A server with the default options: nothing is kept on disk.
    ///
    /// # Errors
    /// When there is no executable, or it does not answer in time.
    pub fn start() -> Result<Self, TestRedisError> {
        TestRedisBuilder::default().start()
    }

    /// To choose options.
    pub fn builder() -> TestRedisBuilder {
        TestRedisBuilder::default()
    }

    /// `redis://127.0.0.1:<port>/0`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Its TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Runs one command on a connection of its own.
    ///
    /// # Errors
    /// When the server cannot be reached. An error reply is a [`Value::Error`].
    pub fn command<A: AsRef<[u8]>>(&self, args: &[A]) -> Result<Value, RespError> {
        RespClient::connect(self.port)?.command(args)
    }

    /// Stops the server as an operator would; what it holds is kept only if it was started with
    /// persistence.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn stop(&mut self) -> Result<(), TestRedisError> {
        // The connection ends without a reply.
        let _ = self.command(&["SHUTDOWN"]);
        self.reap()
    }

    /// Kills the server with SIGKILL.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn kill(&mut self) -> Result<(), TestRedisError> {
        self.signal("KILL")?;
        self.reap()
    }

    /// Starts it again on the same port and folder.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub fn restart(&mut self) -> Result<(), TestRedisError> {
        self.spawn()
    }

    /// Freezes the server: connections stay, nothing is answered.
    ///
    /// # Errors
    /// When the system refuses the signal.
    pub fn pause(&self) -> Result<(), TestRedisError> {
        self.signal("STOP")
    }

    /// Lets a frozen server go on.
    ///
    /// # Errors
    /// When the system refuses the signal.
    pub fn resume(&self) -> Result<(), TestRedisError> {
        self.signal("CONT")
    }

    fn spawn(&mut self) -> Result<(), TestRedisError> {
        let binary = match &self.builder.binary {
            Some(server) => RedisBinary { server: server.clone(), libraries: None },
            None => RedisBinary::resolve()?,
        };
        let log_path = self.folder.path().join("redis.log");
        let log = File::options().create(true).append(true).open(&log_path)?;
        // The shell holds our pipe as its input and ends the server when that closes, which it
        // does however this process ends.
        let mut server = Command::new("sh");
        server.args([
            "-c",
            r#""$0" "$@" & server=$!; echo $server; cat >/dev/null; kill -9 $server 2>/dev/null"#,
        ]);
        let real = binary.command();
        server.arg(real.get_program());
        for (name, value) in real.get_envs() {
            if let Some(value) = value {
                server.env(name, value);
            }
        }
        let child = server
            .args([
                "--port",
                &self.port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args(["--unixsocket", &self.socket().display().to_string(), "--dir"])
            .arg(self.folder.path())
            .args(&self.builder.args)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        let port = self.port;
        let answers = || {
            RespClient::connect(port)
                .and_then(|mut client| client.command(&["PING"]))
                .is_ok_and(|reply| !reply.text().starts_with("LOADING"))
        };
        if wait_until(START_LIMIT, answers) {
            return Ok(());
        }
        let log = std::fs::read_to_string(log_path).unwrap_or_default();
        let tail: Vec<&str> = log.lines().rev().take(3).collect();
        Err(TestRedisError::NoAnswer { port, log: tail.into_iter().rev().collect::<Vec<_>>().join(" | ") })
    }

    fn server_pid(&self) -> Result<String, TestRedisError> {
        let log = std::fs::read_to_string(self.folder.path().join("redis.log"))?;
        let pid = log.lines().rev().find(|line| line.parse::<u32>().is_ok());
        Ok(pid.ok_or_else(|| std::io::Error::other("the server's pid is not in its log"))?.to_owned())
    }

    fn signal(&self, name: &str) -> Result<(), TestRedisError> {
        let pid = self.server_pid()?;
        let status = Command::new("kill").arg(format!("-{name}")).arg(pid).status()?;
        if status.success() { Ok(()) } else { Err(std::io::Error::other("kill was refused").into()) }
    }

    fn reap(&mut self) -> Result<(), TestRedisError> {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            child.wait()?;
        }
        let port = self.port;
        // Only then can the port be used again.
        let _ = wait_until(Duration::from_secs(5), || RespClient::connect(port).is_err());
        Ok(())
    }
}

impl Drop for TestRedis {
    fn drop(&mut self) {
        let _ = self.reap();
    }
}

/// A port that nobody listens on just now.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
