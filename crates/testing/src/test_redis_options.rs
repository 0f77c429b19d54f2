//! How a test's Redis server is started.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use crate::certificates::{CA_CERTIFICATE, Certificates, SERVER_CERTIFICATE, SERVER_KEY};
use crate::ports::PORTS;
use crate::{TestRedis, TestRedisError};

/// How long a cluster's node is missed before the others take it for failed.
const CLUSTER_NODE_TIMEOUT: Duration = Duration::from_secs(1);

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
    pub(crate) users: Vec<User>,
    pub(crate) tls: Option<Certificates>,
    pub(crate) cluster: bool,
    pub(crate) extra: Vec<OsString>,
}

/// An ACL user.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) rules: String,
}

impl TestRedisOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A server of one version, such as `"6.2"`, instead of the one that is found first; see
    /// [`RedisBinary::locate_version`](crate::RedisBinary::locate_version).
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

    /// Adds an ACL user beside the default one, who keeps all rights. The rules are those of Redis, such as
    /// `"~cogworker:* &* +@all -@admin"`; [`TestRedis::url_of`] gives the user's URL, in which name and password
    /// must need no escaping.
    #[must_use]
    pub fn user(
        mut self,
        name: impl Into<String>,
        password: impl Into<String>,
        rules: impl Into<String>,
    ) -> Self {
        self.users.push(User { name: name.into(), password: password.into(), rules: rules.into() });
        self
    }

    /// Speaks TLS on the TCP port (and nothing else there; the unix socket stays plain), with a certificate for
    /// `127.0.0.1` and `localhost` by an authority of its own: [`TestRedis::ca_certificate`]. The `openssl`
    /// program makes both. A server built without TLS does not start: of those that are fetched, the
    /// distribution's alone has it.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = Some(Certificates::New);
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

    /// The ports to pick from. A cluster's node listens on a second one, 10,000 above.
    pub(crate) fn ports(&self) -> Range<u16> {
        if self.cluster { PORTS.start..PORTS.end - 10_000 } else { PORTS }
    }

    /// The server's command line. `primary` is the port of the server to replicate.
    pub(crate) fn arguments(
        &self,
        port: u16,
        socket: &Path,
        folder: &Path,
        primary: Option<u16>,
    ) -> Vec<OsString> {
        let mut arguments = Vec::new();
        let mut set = |name: &str, value: &dyn AsRef<OsStr>| {
            arguments.extend([OsString::from(format!("--{name}")), value.as_ref().to_owned()]);
        };
        set("bind", &"127.0.0.1");
        if self.tls.is_some() {
            set("port", &"0");
            set("tls-port", &port.to_string());
            set("tls-cert-file", &SERVER_CERTIFICATE);
            set("tls-key-file", &SERVER_KEY);
            set("tls-ca-cert-file", &CA_CERTIFICATE);
            set("tls-auth-clients", &"no");
            set("tls-replication", &"yes");
            set("tls-cluster", &"yes");
        } else {
            set("port", &port.to_string());
        }
        set("unixsocket", &socket);
        set("unixsocketperm", &"700");
        set("dir", &folder);
        set("save", &"");
        set("appendonly", &if self.appendonly { "yes" } else { "no" });
        set("appendfsync", &"always");
        set("daemonize", &"no");
        // Without a disk, the primary waits for more replicas to join, and then up to a second before it sends
        // what was written meanwhile.
        set("repl-diskless-sync", &"no");
        if self.cluster {
            set("cluster-enabled", &"yes");
            set("cluster-node-timeout", &CLUSTER_NODE_TIMEOUT.as_millis().to_string());
        }
        if let Some(bytes) = self.maxmemory {
            set("maxmemory", &bytes.to_string());
        }
        if let Some(password) = &self.password {
            set("requirepass", password);
            set("masterauth", password);
        }
        if let Some(primary) = primary {
            set("replicaof", &"127.0.0.1");
            arguments.push(primary.to_string().into());
        }
        for user in &self.users {
            arguments.extend(["--user", &user.name, "on"].map(OsString::from));
            arguments.push(format!(">{}", user.password).into());
            arguments.extend(user.rules.split_whitespace().map(OsString::from));
        }
        arguments.extend(self.extra.iter().cloned());
        arguments
    }
}
