//! Where Redis is and how to speak to it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

/// Used where nothing else is said.
const DEFAULT_URL: &str = "redis://127.0.0.1:6379/0";

/// Settings that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedisConfigError {
    /// A part of the URL.
    #[error("read the redis url {url}: {part} must be {expected}, found {found}")]
    BadUrl {
        /// The URL, without its password.
        url: String,
        /// Which part.
        part: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
}

/// How the servers stand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topology {
    /// One server.
    Single {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// One server on this machine.
    Unix {
        /// The socket's path.
        path: PathBuf,
    },
    /// A primary that Sentinels know.
    Sentinel {
        /// The Sentinels.
        hosts: Vec<(String, u16)>,
        /// The name they watch the primary under.
        service: String,
    },
    /// A cluster. Needs a key prefix with a hash tag, such as `{cogworker}`.
    Cluster {
        /// Some of its nodes.
        hosts: Vec<(String, u16)>,
    },
}

/// Where Redis is and how to speak to it. The password never shows in its text forms.
///
/// ```
/// use cogworker_core::redis_config::RedisConfig;
///
/// let config = RedisConfig::new("redis://:secret@db.example:6380/3")?;
/// assert_eq!(config.database(), 3);
/// assert_eq!(config.to_string(), "redis://db.example:6380/3");
/// # Ok::<(), cogworker_core::redis_config::RedisConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    topology: Topology,
    tls: bool,
    username: Option<String>,
    password: Option<String>,
    database: u8,
    key_prefix: String,
    connect_timeout: Duration,
    command_timeout: Duration,
}

impl Default for RedisConfig {
    /// `redis://127.0.0.1:6379/0`.
    fn default() -> Self {
        Self::single("127.0.0.1", 6379)
    }
}

impl RedisConfig {
    /// Reads a URL: `redis://`, `rediss://` (TLS), `valkey://`, `valkeys://` with
    /// `user:password@host:port/database`; `redis+unix:///path` or `unix:///path` with
    /// `?db=N`; `redis-sentinel://host:port,host:port/database?service=NAME`;
    /// `redis-cluster://host:port,host:port`.
    ///
    /// # Errors
    /// Names the part that is wrong, what it must be and what was found.
    pub fn new(url: &str) -> Result<Self, RedisConfigError> {
        let shown = without_password(url);
        let bad = |part, expected, found: &str| RedisConfigError::BadUrl {
            url: shown.clone(),
            part,
            expected,
            found: if found.is_empty() { "nothing".into() } else { found.to_owned() },
        };
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(bad("the scheme", SCHEMES, url.split(':').next().unwrap_or(url)));
        };
        let (kind, tls) = match scheme {
            "redis" | "valkey" => (Kind::Single, false),
            "rediss" | "valkeys" => (Kind::Single, true),
            "unix" | "redis+unix" | "valkey+unix" => (Kind::Unix, false),
            "redis-sentinel" | "valkey-sentinel" => (Kind::Sentinel, false),
            "rediss-sentinel" | "valkeys-sentinel" => (Kind::Sentinel, true),
            "redis-cluster" | "valkey-cluster" => (Kind::Cluster, false),
            "rediss-cluster" | "valkeys-cluster" => (Kind::Cluster, true),
            other => return Err(bad("the scheme", SCHEMES, other)),
        };
        // The URL crate knows one host; the others of a list are read apart.
        let (hosts, rest) = split_hosts(rest);
        let first = hosts.first().copied().unwrap_or("");
        let parsed = Url::parse(&format!("redis://{first}{rest}"))
            .map_err(|error| bad("the address", "host or host:port", &format!("{first} ({error})")))?;
        let mut addresses = vec![(
            parsed.host_str().unwrap_or("").trim_matches(['[', ']']).to_owned(),
            parsed.port().unwrap_or(kind.default_port()),
        )];
        for host in hosts.iter().skip(1) {
            let other = Url::parse(&format!("redis://{host}"))
                .map_err(|error| bad("the address", "host or host:port", &format!("{host} ({error})")))?;
            addresses.push((
                other.host_str().unwrap_or("").trim_matches(['[', ']']).to_owned(),
                other.port().unwrap_or(kind.default_port()),
            ));
        }
        if kind != Kind::Unix
            && let Some((host, _)) = addresses.iter().find(|(host, _)| host.is_empty())
        {
            return Err(bad("the host", "a name or an address", host));
        }
        let query = |names: &[&str]| {
            parsed.query_pairs().find(|(key, _)| names.contains(&&**key)).map(|(_, value)| value.into_owned())
        };
        let path = percent_decoded(parsed.path());
        let (topology, database) = match kind {
            Kind::Unix => {
                if path.len() < 2 {
                    return Err(bad("the path", "the path of a socket", &path));
                }
                (Topology::Unix { path: path.into() }, query(&["db", "database"]).unwrap_or_default())
            }
            Kind::Single => {
                let (host, port) = addresses.swap_remove(0);
                (Topology::Single { host, port }, path.trim_start_matches('/').to_owned())
            }
            Kind::Sentinel => {
                let service = query(&["service", "sentinelServiceName", "master"])
                    .ok_or_else(|| bad("?service=", "the name of the primary", ""))?;
                (Topology::Sentinel { hosts: addresses, service }, path.trim_start_matches('/').to_owned())
            }
            Kind::Cluster => (Topology::Cluster { hosts: addresses }, String::new()),
        };
        let database = match database.as_str() {
            "" => 0,
            text => text.parse().map_err(|_| bad("the database", "a number from 0 to 255", text))?,
        };
        let credential = |text: &str| (!text.is_empty()).then(|| percent_decoded(text));
        Ok(Self {
            topology,
            tls,
            username: credential(parsed.username()),
            password: parsed.password().and_then(credential),
            database,
            ..Self::default()
        })
    }

    /// The URL in `REDIS_URL`, or `redis://127.0.0.1:6379/0`.
    ///
    /// # Errors
    /// When the URL cannot be used.
    pub fn from_env() -> Result<Self, RedisConfigError> {
        Self::new(&std::env::var("REDIS_URL").unwrap_or_else(|_| DEFAULT_URL.to_owned()))
    }

    /// One server at `host` and `port`.
    pub fn single(host: &str, port: u16) -> Self {
        Self {
            topology: Topology::Single { host: host.to_owned(), port },
            tls: false,
            username: None,
            password: None,
            database: 0,
            key_prefix: String::new(),
            connect_timeout: Duration::from_secs(5),
            command_timeout: Duration::from_secs(5),
        }
    }

    /// With another database.
    #[must_use]
    pub fn with_database(mut self, database: u8) -> Self {
        self.database = database;
        self
    }

    /// With credentials; without a username it is the default user's password.
    #[must_use]
    pub fn with_credentials(mut self, username: Option<&str>, password: &str) -> Self {
        self.username = username.map(str::to_owned);
        self.password = Some(password.to_owned());
        self
    }

    /// With `prefix` before every key. A hash tag such as `{cogworker}` is needed for a cluster.
    /// Processes share jobs only under the same prefix; the gem has none.
    #[must_use]
    pub fn with_key_prefix(mut self, prefix: &str) -> Self {
        self.key_prefix = prefix.to_owned();
        self
    }

    /// With another limit for the first connection (default 5 s).
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// With another limit for a call (default 5 s).
    #[must_use]
    pub fn with_command_timeout(mut self, timeout: Duration) -> Self {
        self.command_timeout = timeout;
        self
    }

    /// How the servers stand.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// True for TLS.
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// The ACL user, if any.
    pub fn username(&self) -> Option<&str> {
        self.username.as_deref()
    }

    /// The password, if any.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The database's number.
    pub fn database(&self) -> u8 {
        self.database
    }

    /// What stands before every key.
    pub fn key_prefix(&self) -> &str {
        &self.key_prefix
    }

    /// The limit for the first connection.
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// The limit for a call.
    pub fn command_timeout(&self) -> Duration {
        self.command_timeout
    }
}

const SCHEMES: &str =
    "redis, rediss, valkey, valkeys, redis+unix, redis-sentinel or redis-cluster, followed by ://";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Unix,
    Sentinel,
    Cluster,
}

impl Kind {
    fn default_port(self) -> u16 {
        if self == Self::Sentinel { 26379 } else { 6379 }
    }
}

/// `user:password@a:1,b:2/0?x=y` into [`user:password@a:1`, `b:2`] and `/0?x=y`.
fn split_hosts(rest: &str) -> (Vec<&str>, &str) {
    // A password may hold any character but `@`, so the address begins after the last one
    // before the path.
    let credentials = rest.find('@').map_or(0, |at| at + 1);
    let end = rest[credentials..].find(['/', '?']).map_or(rest.len(), |at| credentials + at);
    let first_end = rest[credentials..end].find(',').map_or(end, |at| credentials + at);
    let mut hosts = vec![&rest[..first_end]];
    if first_end < end {
        hosts.extend(rest[first_end + 1..end].split(','));
    }
    (hosts, &rest[end..])
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &url[..scheme + 3], &url[at + 1..]),
        _ => url.to_owned(),
    }
}

impl fmt::Display for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.tls { "s" } else { "" };
        let list = |hosts: &[(String, u16)]| {
            hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect::<Vec<_>>().join(",")
        };
        match &self.topology {
            Topology::Single { host, port } => write!(f, "redis{s}://{host}:{port}/{}", self.database),
            Topology::Unix { path } => write!(f, "redis+unix://{}?db={}", path.display(), self.database),
            Topology::Sentinel { hosts, service } => {
                write!(f, "redis{s}-sentinel://{}/{}?service={service}", list(hosts), self.database)
            }
            Topology::Cluster { hosts } => write!(f, "redis{s}-cluster://{}", list(hosts)),
        }
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisConfig({self}, key prefix {:?})", self.key_prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topology_is_read_and_written() {
        for url in [
            "redis://127.0.0.1:6379/0",
            "rediss://db.example:6380/3",
            "redis+unix:///run/redis.sock?db=2",
            "redis-sentinel://a:26379,b:26380/1?service=main",
            "redis-cluster://a:7000,b:7001",
        ] {
            assert_eq!(RedisConfig::new(url).unwrap().to_string(), url);
        }
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        let config = RedisConfig::new("redis://bob:p%40ss@h:1/0").unwrap();
        assert_eq!((config.username(), config.password()), (Some("bob"), Some("p@ss")));
        assert!(!format!("{config:?} {config}").contains("p@ss"));
        let error = RedisConfig::new("redis://:secret@h:1/many").unwrap_err().to_string();
        assert_eq!(
            error,
            "read the redis url redis://h:1/many: the database must be a number from 0 to 255, found many"
        );
    }

    #[test]
    fn a_wrong_url_is_told_by_its_part() {
        let error = |url: &str| RedisConfig::new(url).unwrap_err().to_string();
        assert!(error("http://x").contains("the scheme must be redis"));
        assert!(error("localhost:6379").contains("found localhost"));
        assert!(error("redis://h:99999/0").contains("the address must be host or host:port"));
        assert!(error("redis-sentinel://h:1/0").contains("?service= must be the name of the primary"));
        assert!(error("unix://").contains("the path must be the path of a socket"));
    }
}
