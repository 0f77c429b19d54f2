//! A primary, its replicas, and the Sentinels that watch over them.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::time::Duration;

use crate::sentinel_process::SentinelProcess;
use crate::server_process::read_log;
use crate::{TestRedis, TestRedisError, TestRedisOptions, wait_until};

/// The name under which the Sentinels know the primary.
const SERVICE: &str = "cogworker";

/// How long a primary has to be silent before a Sentinel takes it for down.
const DOWN_AFTER: Duration = Duration::from_millis(500);

/// How long one failover may take, and the pause before the next one is tried is twice that.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(3);

/// How long everybody may take to know everybody, or to agree on another primary. Normal is a second or two;
/// Redis before 7.0 needs ten more for a failover.
const DEADLINE: Duration = Duration::from_secs(40);

/// Options of a [`TestSentinel`]: one replica and one Sentinel, unless told otherwise.
///
/// ```no_run
/// use cogworker_testing::{TestRedisOptions, TestSentinelOptions};
///
/// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
/// let redis = TestRedisOptions::new().requirepass("secret");
/// let group = TestSentinelOptions::new().replicas(2).sentinels(3).redis(redis).start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TestSentinelOptions {
    replicas: usize,
    sentinels: usize,
    redis: TestRedisOptions,
}

impl Default for TestSentinelOptions {
    fn default() -> Self {
        Self { replicas: 1, sentinels: 1, redis: TestRedisOptions::new() }
    }
}

impl TestSentinelOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many replicas; without one there is nothing to fail over to.
    #[must_use]
    pub fn replicas(mut self, count: usize) -> Self {
        self.replicas = count;
        self
    }

    /// How many Sentinels; more than half of them have to agree that the primary is down.
    #[must_use]
    pub fn sentinels(mut self, count: usize) -> Self {
        self.sentinels = count;
        self
    }

    /// The options of the servers. The Sentinels themselves demand no password and speak no TLS, so neither can
    /// these servers speak TLS.
    #[must_use]
    pub fn redis(mut self, options: TestRedisOptions) -> Self {
        self.redis = options;
        self
    }

    /// Starts all servers, and returns when every Sentinel knows the replicas and the other Sentinels.
    ///
    /// # Errors
    /// As [`TestRedis::start`], and [`TestRedisError::Late`] when they do not find each other.
    pub fn start(self) -> Result<TestSentinel, TestRedisError> {
        TestSentinel::start_with(self)
    }
}

/// A group of private servers with Sentinel.
///
/// The primary is looked for through the Sentinels: [`urls`](Self::urls) or [`ports`](Self::ports), and
/// [`service`](Self::service). Dropping the value kills all servers; so does the end of the test process.
///
/// ```no_run
/// use cogworker_testing::TestSentinel;
///
/// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
/// let group = TestSentinel::start()?;
/// let before = group.primary()?.port();
/// group.failover()?;
/// assert_ne!(group.primary()?.port(), before);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestSentinel {
    // Before the servers, which they would otherwise find to be down.
    sentinels: Vec<SentinelProcess>,
    servers: Vec<TestRedis>,
}

impl TestSentinel {
    /// Starts a primary, one replica and one Sentinel.
    ///
    /// # Errors
    /// As [`TestSentinelOptions::start`].
    pub fn start() -> Result<Self, TestRedisError> {
        Self::start_with(TestSentinelOptions::new())
    }

    fn start_with(options: TestSentinelOptions) -> Result<Self, TestRedisError> {
        if options.redis.tls.is_some() {
            let reason = "the servers of a test's Sentinels cannot speak TLS";
            return Err(io::Error::new(ErrorKind::Unsupported, reason).into());
        }
        let primary = options.redis.start()?;
        let replicas: Vec<TestRedis> =
            (0..options.replicas).map(|_| primary.replica()).collect::<Result<_, _>>()?;
        let quorum = options.sentinels / 2 + 1;
        let mut lines = format!(
            "sentinel monitor {SERVICE} 127.0.0.1 {} {quorum}\n\
             sentinel down-after-milliseconds {SERVICE} {}\n\
             sentinel failover-timeout {SERVICE} {}\n",
            primary.port(),
            DOWN_AFTER.as_millis(),
            FAILOVER_TIMEOUT.as_millis(),
        );
        if let Some(password) = &primary.options.password {
            lines += &format!("sentinel auth-pass {SERVICE} {password}\n");
        }
        let sentinels: Vec<SentinelProcess> = (0..options.sentinels)
            .map(|_| SentinelProcess::start(primary.binary(), &lines))
            .collect::<Result<_, _>>()?;
        let mut servers = vec![primary];
        servers.extend(replicas);
        let group = Self { sentinels, servers };
        group.wait_for("every Sentinel know all servers", || group.is_acquainted())?;
        Ok(group)
    }

    /// The URLs of the Sentinels.
    pub fn urls(&self) -> Vec<String> {
        self.ports().into_iter().map(|port| format!("redis://127.0.0.1:{port}")).collect()
    }

    /// The ports of the Sentinels, on 127.0.0.1.
    pub fn ports(&self) -> Vec<u16> {
        self.sentinels.iter().map(|sentinel| sentinel.port).collect()
    }

    /// The name under which the Sentinels know the primary.
    pub fn service(&self) -> &'static str {
        SERVICE
    }

    /// All servers, whatever their role, those that were killed included.
    pub fn servers(&self) -> &[TestRedis] {
        &self.servers
    }

    /// The server that the Sentinels name as the primary, which may be dead.
    ///
    /// # Errors
    /// [`TestRedisError::NotRunning`] when no Sentinel is running.
    pub fn primary(&self) -> Result<&TestRedis, TestRedisError> {
        let named = self.running().find_map(|sentinel| self.named_by(sentinel));
        named.ok_or(TestRedisError::NotRunning)
    }

    /// The servers that are no primary in the Sentinels' eyes.
    ///
    /// # Errors
    /// As [`TestSentinel::primary`].
    pub fn replicas(&self) -> Result<Vec<&TestRedis>, TestRedisError> {
        let primary = self.primary()?.port();
        Ok(self.servers.iter().filter(|server| server.port() != primary).collect())
    }

    /// Makes a replica the primary (`SENTINEL FAILOVER`), and gives it when all Sentinels name it and all running
    /// servers replicate it, the old primary too. Connections to that were closed then.
    ///
    /// # Errors
    /// [`TestRedisError::Late`], with the Sentinels' log.
    pub fn failover(&self) -> Result<&TestRedis, TestRedisError> {
        let old = self.primary()?;
        let sentinel = self.running().next().ok_or(TestRedisError::NotRunning)?;
        let moved = || self.primary().is_ok_and(|new| new.port() != old.port());
        // Refused while the last failover is not quite over, and given up when the replica is too slow.
        self.wait_for("the Sentinels name another primary", || {
            let _ = sentinel.command(&["SENTINEL", "FAILOVER", SERVICE]);
            wait_until(FAILOVER_TIMEOUT, moved)
        })?;
        self.wait_for_failover(old)
    }

    /// Kills the primary, and gives it at once: the Sentinels have yet to see it.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
    /// # let group = cogworker_testing::TestSentinel::start()?;
    /// let dead = group.kill_primary()?;
    /// let new = group.wait_for_failover(dead)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`TestSentinel::primary`].
    pub fn kill_primary(&self) -> Result<&TestRedis, TestRedisError> {
        let primary = self.primary()?;
        primary.kill();
        Ok(primary)
    }

    /// Waits until another server than `old` is the primary: all Sentinels name it, and all running servers
    /// replicate it.
    ///
    /// # Errors
    /// [`TestRedisError::Late`], with the Sentinels' log.
    pub fn wait_for_failover(&self, old: &TestRedis) -> Result<&TestRedis, TestRedisError> {
        self.wait_for("another primary", || {
            self.primary().is_ok_and(|new| new.port() != old.port() && self.is_agreed_on(new))
        })?;
        let new = self.primary()?;
        // As Sentinel has it written to the configuration file of each server that it reaches.
        for server in self.servers.iter().filter(|server| server.is_running()) {
            server.remember_primary(Some(new.port()).filter(|port| *port != server.port()));
        }
        Ok(new)
    }

    /// Kills one Sentinel, by its place in [`ports`](Self::ports). A place that does not exist is ignored.
    pub fn kill_sentinel(&self, place: usize) {
        if let Some(sentinel) = self.sentinels.get(place) {
            sentinel.kill();
        }
    }

    fn running(&self) -> impl Iterator<Item = &SentinelProcess> {
        self.sentinels.iter().filter(|sentinel| sentinel.is_running())
    }

    fn named_by(&self, sentinel: &SentinelProcess) -> Option<&TestRedis> {
        let address = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE]).ok()?.strings();
        self.servers.iter().find(|server| Some(&server.port().to_string()) == address.get(1))
    }

    fn is_acquainted(&self) -> bool {
        self.sentinels.iter().all(|sentinel| {
            let primary = sentinel.primary(SERVICE);
            let is = |known: &HashMap<String, String>, field: &str, value: &str| {
                known.get(field).is_some_and(|found| found == value)
            };
            let well =
                |replica: &&_| is(replica, "flags", "slave") && is(replica, "master-link-status", "ok");
            is(&primary, "flags", "master")
                && is(&primary, "num-other-sentinels", &(self.sentinels.len() - 1).to_string())
                && sentinel.replicas(SERVICE).iter().filter(well).count() == self.servers.len() - 1
        })
    }

    fn is_agreed_on(&self, primary: &TestRedis) -> bool {
        let named = self.running().all(|sentinel| {
            self.named_by(sentinel).is_some_and(|named| named.port() == primary.port())
                && sentinel.primary(SERVICE).get("flags").is_some_and(|flags| flags == "master")
        });
        named
            && primary.info("role").is_ok_and(|role| role.as_deref() == Some("master"))
            && self
                .servers
                .iter()
                .filter(|server| server.port() != primary.port() && server.is_running())
                .all(|server| server.in_sync_with(primary).unwrap_or(false))
    }

    fn wait_for(&self, what: &str, condition: impl FnMut() -> bool) -> Result<(), TestRedisError> {
        if wait_until(DEADLINE, condition) {
            return Ok(());
        }
        let logs: Vec<String> =
            self.sentinels.iter().map(|sentinel| read_log(&sentinel.log_path())).collect();
        let found = format!("another state; the Sentinels' logs:\n{}", logs.join("\n"));
        Err(TestRedisError::Late { what: what.to_owned(), deadline: DEADLINE, found })
    }
}
