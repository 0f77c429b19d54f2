//! How a test's Redis server is started.

use std::ffi::OsString;

use crate::{TestRedis, TestRedisError};

/// Options of a [`TestRedis`]; the defaults suit most tests: nothing is written to disk, no password.
///
/// ```no_run
/// use cogworker_testing::TestRedisOptions;
///
/// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
/// let redis = TestRedisOptions::new().appendonly(true).requirepass("secret").start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct TestRedisOptions {
    pub(crate) version: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) maxmemory: Option<u64>,
    pub(crate) appendonly: bool,
    pub(crate) password: Option<String>,
    pub(crate) extra: Vec<OsString>,
}

impl TestRedisOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A server of one version, such as `"6.2"`, instead of the one that is found first; see
    /// [`RedisBinary::version`](crate::RedisBinary::version).
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// A fixed TCP port instead of a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// The most memory Redis may use, in bytes; beyond it, writes fail with `OOM`.
    #[must_use]
    pub fn maxmemory(mut self, bytes: u64) -> Self {
        self.maxmemory = Some(bytes);
        self
    }

    /// Writes every command to an append-only file at once, so that the data outlive [`TestRedis::kill`].
    #[must_use]
    pub fn appendonly(mut self, on: bool) -> Self {
        self.appendonly = on;
        self
    }

    /// Demands a password. It is part of [`TestRedis::url`], so it must need no escaping there.
    #[must_use]
    pub fn requirepass(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// One more argument of `redis-server`, after all the others: `.arg("--databases").arg("4")`.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.extra.push(arg.into());
        self
    }

    /// Starts the server and returns when it answers.
    ///
    /// # Errors
    /// As [`TestRedis::start`].
    pub fn start(self) -> Result<TestRedis, TestRedisError> {
        TestRedis::start_with(self)
    }
}
