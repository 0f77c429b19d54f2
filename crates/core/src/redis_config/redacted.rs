//! The forms of a configuration that people see: none shows a password.

use std::fmt;

use super::{HostPort, RedisConfig, Topology};

impl RedisConfig {
    /// The url without the secrets: `***` stands for each password.
    fn redacted_url(&self) -> String {
        let mut url = String::from(if self.tls { "rediss" } else { "redis" });
        url.push_str(match &self.topology {
            Topology::Single { .. } => "://",
            Topology::Unix { .. } => "+unix://",
            Topology::Sentinel { .. } => "-sentinel://",
            Topology::Cluster { .. } => "-cluster://",
        });
        let username = self.username.as_deref().unwrap_or_default();
        match self.password {
            Some(_) => url.push_str(&format!("{username}:***@")),
            None if !username.is_empty() => url.push_str(&format!("{username}@")),
            None => {}
        }
        match &self.topology {
            Topology::Single { host, port } => {
                url.push_str(&format!("{}/{}", HostPort::new(host, *port), self.db));
            }
            Topology::Unix { path } => url.push_str(&format!("{}?db={}", path.display(), self.db)),
            Topology::Sentinel { hosts, service } => {
                url.push_str(&format!("{}/{}?service={service}", join(hosts), self.db));
            }
            Topology::Cluster { hosts } => url.push_str(&join(hosts)),
        }
        url
    }
}

impl fmt::Display for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted_url())
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("url", &self.redacted_url())
            .field("key_prefix", &self.key_prefix)
            .field("connect_timeout", &self.connect_timeout)
            .field("command_timeout", &self.command_timeout)
            .finish_non_exhaustive()
    }
}

fn join(hosts: &[HostPort]) -> String {
    hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
