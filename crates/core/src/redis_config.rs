//! Where Redis is and how to reach it.
//!
//! [`RedisConfig`] is plain data: it is read from a url, the environment or single settings, and
//! checked without touching the network. The connection code turns it into the client library's own
//! configuration. No form of it that can end up in a log ([`Debug`](fmt::Debug),
//! [`Display`](fmt::Display), errors) ever shows a password.

mod error;
mod redacted;
mod url;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use self::error::{RedisConfigError, RedisPart};

/// The port of a Redis server when none is named.
pub const DEFAULT_PORT: u16 = 6379;

/// The port of a Sentinel when none is named.
pub const DEFAULT_SENTINEL_PORT: u16 = 26379;

/// Long enough for a TLS handshake across regions, short enough that a dead host is noticed.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Well above any script's run time, well below the 60 s after which a silent process counts as gone.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// The server used when nothing names one.
pub const DEFAULT_URL: &str = "redis://127.0.0.1:6379/0";

/// The longest timeout that is accepted, as anything above it is a slip in the unit.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// The variable that names the Redis server.
pub const URL_VAR: &str = "REDIS_URL";
/// What it is sometimes taken for.
const MISNAMED_URL_VARS: [&str; 2] = ["COGWORKER_REDIS_URL", "COGWORKER_REDIS"];
/// The variable for [`RedisConfig::key_prefix`].
pub const KEY_PREFIX_VAR: &str = "COGWORKER_REDIS_KEY_PREFIX";
/// The variable for [`RedisConfig::connect_timeout`], in seconds.
pub const CONNECT_TIMEOUT_VAR: &str = "COGWORKER_REDIS_CONNECT_TIMEOUT";
/// The variable for [`RedisConfig::command_timeout`], in seconds.
pub const COMMAND_TIMEOUT_VAR: &str = "COGWORKER_REDIS_COMMAND_TIMEOUT";

/// A host name or address and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A host name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl HostPort {
    /// Names one TCP endpoint.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// How the Redis servers are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topology {
    /// One server over TCP.
    Single {
        /// Host name or address, without brackets.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// One server over a unix socket.
    Unix {
        /// The socket's path.
        path: PathBuf,
    },
    /// A primary that is found through Sentinels.
    Sentinel {
        /// The Sentinels; any one that answers is enough.
        hosts: Vec<HostPort>,
        /// The name under which the Sentinels watch the primary.
        service: String,
    },
    /// A Redis Cluster; needs a key prefix with a hash tag, so that all keys share one slot.
    Cluster {
        /// Some of the nodes; the others are discovered.
        hosts: Vec<HostPort>,
    },
}

/// Where Redis is and how to reach it.
///
/// ```
/// use cogworker_core::redis_config::{RedisConfig, Topology};
///
/// # fn main() -> Result<(), cogworker_core::redis_config::RedisConfigError> {
/// let config = RedisConfig::new("rediss://app:s3cret@redis.example:6380/2")?;
/// assert_eq!(config.topology, Topology::Single { host: "redis.example".into(), port: 6380 });
/// assert!(config.tls);
/// assert_eq!(config.db, 2);
/// assert_eq!(config.to_string(), "rediss://app:***@redis.example:6380/2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisConfig {
    /// Where the servers are.
    pub topology: Topology,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// The ACL user; `None` is Redis's `default` user.
    pub username: Option<String>,
    /// The password of the user, or of the server.
    pub password: Option<String>,
    /// The ACL user for the Sentinels themselves.
    pub sentinel_username: Option<String>,
    /// The password for the Sentinels themselves.
    pub sentinel_password: Option<String>,
    /// The database number.
    pub db: u8,
    /// Put before every key; `None` is the plain key names, shared with the Ruby gem.
    pub key_prefix: Option<String>,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long one command may take before its outcome counts as unknown.
    pub command_timeout: Duration,
}

impl RedisConfig {
    /// Reads a url.
    ///
    /// | form | meaning |
    /// |---|---|
    /// | `redis://user:password@host:port/db` | one server; `rediss://` with TLS |
    /// | `redis+unix:///path?db=1`, `unix:///path` | a unix socket |
    /// | `redis-sentinel://h1:p1,h2:p2/db?service=name` | Sentinels; `rediss-sentinel://` with TLS |
    /// | `redis-cluster://h1:p1,h2:p2` | a cluster; `rediss-cluster://` with TLS |
    ///
    /// `valkey` may stand for `redis` in each, and a final `s` (`redis-sentinels`, `redis-clusters`)
    /// also asks for TLS. User and password are percent-decoded. Sentinels may have credentials of
    /// their own: `sentinel_username` and `sentinel_password` in the query.
    ///
    /// # Errors
    ///
    /// When a part of the url is missing, malformed or unknown.
    pub fn new(url: &str) -> Result<Self, RedisConfigError> {
        url::parse(url)
    }

    /// Reads the process environment: `REDIS_URL`, else `redis://127.0.0.1:6379/0`, and
    /// `COGWORKER_REDIS_KEY_PREFIX`, `COGWORKER_REDIS_CONNECT_TIMEOUT` and
    /// `COGWORKER_REDIS_COMMAND_TIMEOUT` (seconds).
    ///
    /// A worker reads the same variables, so an app and its workers that share an environment also
    /// share their Redis and key names. A variable that is set but empty counts as not set.
    ///
    /// # Errors
    ///
    /// When a variable is not Unicode, its value is refused, or its name is a slip (`COGWORKER_REDIS_URL`); the error names
    /// the variable.
    pub fn from_env() -> Result<Self, RedisConfigError> {
        Self::from_vars(|name| std::env::var_os(name))
    }

    /// [`from_env`](Self::from_env) over any source of variables.
    ///
    /// # Errors
    ///
    /// As for [`from_env`](Self::from_env).
    pub fn from_vars(var: impl Fn(&str) -> Option<OsString>) -> Result<Self, RedisConfigError> {
        let text = |name: &'static str| match var(name).filter(|value| !value.is_empty()) {
            None => Ok(None),
            Some(value) => {
                value.into_string().map(Some).map_err(|_| RedisConfigError::NotUnicode { place: name })
            }
        };
        let seconds = |name, part| match text(name)? {
            None => Ok(None),
            Some(value) => parse_seconds(&value).map(Some).ok_or_else(|| {
                RedisConfigError::invalid(part, "a number of seconds", format!("{value:?}")).at(name)
            }),
        };
        // Else the app would push to another Redis than its author thinks.
        for place in MISNAMED_URL_VARS {
            if text(place)?.is_some() {
                return Err(RedisConfigError::Misnamed { place, hint: URL_VAR });
            }
        }
        let mut config = match text(URL_VAR)? {
            Some(url) => Self::new(&url).map_err(|error| error.at(URL_VAR))?,
            None => Self::default(),
        };
        config.key_prefix = text(KEY_PREFIX_VAR)?;
        if let Some(timeout) = seconds(CONNECT_TIMEOUT_VAR, RedisPart::ConnectTimeout)? {
            config.connect_timeout = timeout;
        }
        if let Some(timeout) = seconds(COMMAND_TIMEOUT_VAR, RedisPart::CommandTimeout)? {
            config.command_timeout = timeout;
        }
        config.validate()?;
        Ok(config)
    }

    /// One server over TCP, database 0, no credentials, no TLS.
    pub fn single(host: impl Into<String>, port: u16) -> Self {
        Self::with_topology(Topology::Single { host: host.into(), port })
    }

    /// One server over a unix socket.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self::with_topology(Topology::Unix { path: path.into() })
    }

    /// A primary that Sentinels know as `service`.
    pub fn sentinel(hosts: impl IntoIterator<Item = HostPort>, service: impl Into<String>) -> Self {
        Self::with_topology(Topology::Sentinel {
            hosts: hosts.into_iter().collect(),
            service: service.into(),
        })
    }

    /// A Redis Cluster, reached first through `hosts`.
    pub fn cluster(hosts: impl IntoIterator<Item = HostPort>) -> Self {
        Self::with_topology(Topology::Cluster { hosts: hosts.into_iter().collect() })
    }

    fn with_topology(topology: Topology) -> Self {
        Self {
            topology,
            tls: false,
            username: None,
            password: None,
            sentinel_username: None,
            sentinel_password: None,
            db: 0,
            key_prefix: None,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            command_timeout: DEFAULT_COMMAND_TIMEOUT,
        }
    }

    /// Sets the ACL user.
    #[must_use]
    pub fn with_username(mut self, username: impl Into<String>) -> Self {
        self.username = Some(username.into());
        self
    }

    /// Sets the password.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Sets the ACL user for the Sentinels themselves.
    #[must_use]
    pub fn with_sentinel_username(mut self, username: impl Into<String>) -> Self {
        self.sentinel_username = Some(username.into());
        self
    }

    /// Sets the password for the Sentinels themselves.
    #[must_use]
    pub fn with_sentinel_password(mut self, password: impl Into<String>) -> Self {
        self.sentinel_password = Some(password.into());
        self
    }

    /// Chooses the database.
    #[must_use]
    pub fn with_db(mut self, db: u8) -> Self {
        self.db = db;
        self
    }

    /// Switches TLS on or off.
    #[must_use]
    pub fn with_tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// Puts `prefix` before every key; every process of a fleet must use the same one.
    #[must_use]
    pub fn with_key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = Some(prefix.into());
        self
    }

    /// Bounds one attempt to connect.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Bounds one command.
    #[must_use]
    pub fn with_command_timeout(mut self, timeout: Duration) -> Self {
        self.command_timeout = timeout;
        self
    }

    /// Checks what no single setting can know: that the settings fit together.
    ///
    /// # Errors
    ///
    /// When a host or path is empty, a timeout is zero or absurd, a database is chosen in a cluster, TLS
    /// is asked of a unix socket, or a cluster has no key prefix with a hash tag.
    pub fn validate(&self) -> Result<(), RedisConfigError> {
        use RedisPart as Part;
        let refuse =
            |part, expected: &str, found: &str| Err(RedisConfigError::invalid(part, expected, found));
        match &self.topology {
            Topology::Single { host, .. } if host.is_empty() => {
                return refuse(Part::Host, "a host name or address", "nothing");
            }
            Topology::Unix { path } if path.as_os_str().is_empty() => {
                return refuse(Part::Path, "the path of a socket", "nothing");
            }
            Topology::Unix { .. } if self.tls => {
                return refuse(Part::Tls, "no TLS on a unix socket", "TLS switched on");
            }
            Topology::Sentinel { service, .. } if service.is_empty() => {
                return refuse(Part::Service, "the name of the primary that the sentinels watch", "nothing");
            }
            Topology::Sentinel { hosts, .. } | Topology::Cluster { hosts }
                if hosts.is_empty() || hosts.iter().any(|each| each.host.is_empty()) =>
            {
                return refuse(Part::Host, "at least one host name or address, and no empty one", "nothing");
            }
            Topology::Cluster { .. } if self.db != 0 => {
                return refuse(Part::Db, "0, the only database of a cluster", &self.db.to_string());
            }
            Topology::Cluster { .. } if !self.key_prefix.as_deref().is_some_and(has_hash_tag) => {
                let found =
                    self.key_prefix.as_ref().map_or_else(|| "none".into(), |text| format!("{text:?}"));
                return refuse(
                    Part::KeyPrefix,
                    "a prefix with a hash tag such as \"{cogworker}\", as a cluster needs all keys in one slot",
                    &found,
                );
            }
            _ => {}
        }
        for (part, timeout) in
            [(Part::ConnectTimeout, self.connect_timeout), (Part::CommandTimeout, self.command_timeout)]
        {
            if timeout.is_zero() || timeout > MAX_TIMEOUT {
                let expected = format!("more than 0 and at most {} seconds", MAX_TIMEOUT.as_secs());
                return refuse(part, &expected, &timeout.as_secs_f64().to_string());
            }
        }
        Ok(())
    }
}

impl Default for RedisConfig {
    /// `redis://127.0.0.1:6379/0`.
    fn default() -> Self {
        Self::single("127.0.0.1", DEFAULT_PORT)
    }
}

/// Redis hashes only what stands between the first `{` and the next `}`, if that is not empty.
fn has_hash_tag(prefix: &str) -> bool {
    prefix.split_once('{').and_then(|(_, rest)| rest.split_once('}')).is_some_and(|(tag, _)| !tag.is_empty())
}

fn parse_seconds(text: &str) -> Option<Duration> {
    text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests;
