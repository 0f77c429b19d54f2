//! The `redis` setting of a file: a url, or a map that is turned into one.

use cogworker_core::redis_config::{RedisConfig, RedisConfigError, RedisPart};
use figment::value::Value;

use super::Key;
use super::file::Fault;
use super::node::{Content, Entry, Node};
use super::rule::{Mismatch, Rule};

const KEYS: [&str; 16] = [
    "url",
    "host",
    "port",
    "username",
    "password",
    "db",
    "path",
    "tls",
    "service",
    "sentinels",
    "sentinel_username",
    "sentinel_password",
    "cluster",
    "key_prefix",
    "connect_timeout",
    "command_timeout",
];

/// Refuses a url that cannot be read; never shows it.
pub(super) fn check_url(url: &str) -> Result<(), Mismatch> {
    RedisConfig::new(url).map(|_| ()).map_err(|error| refusal(error).1)
}

fn refusal(error: RedisConfigError) -> (Option<RedisPart>, Mismatch) {
    match error {
        RedisConfigError::Invalid { part, expected, found, .. } => {
            (Some(part), Mismatch::new(expected, found).within(part.to_string()))
        }
        other => (None, Mismatch::new("a usable Redis", other.to_string())),
    }
}

/// Reads the setting; the prefix and the timeouts of a map are settings of their own.
pub(super) fn read(node: &Node) -> Result<Vec<(Key, Value, usize)>, Fault> {
    let Content::Map(entries) = &node.content else {
        let value =
            Key::Redis.rule().read(node).map_err(|mismatch| Fault::invalid(node.line, "redis", mismatch))?;
        return Ok(vec![(Key::Redis, value, node.line)]);
    };
    let map = Map::new(entries)?;
    let mut settings = Vec::new();
    for (name, key) in [
        ("key_prefix", Key::RedisKeyPrefix),
        ("connect_timeout", Key::RedisConnectTimeout),
        ("command_timeout", Key::RedisCommandTimeout),
    ] {
        if let Some(entry) = map.get(name) {
            settings.push((key, map.read(entry, key.rule())?, entry.line));
        }
    }
    if let Some(first) = map
        .entries
        .iter()
        .find(|entry| !matches!(entry.key.as_str(), "key_prefix" | "connect_timeout" | "command_timeout"))
    {
        settings.push((Key::Redis, Value::from(map.url(first.line)?), first.line));
    }
    Ok(settings)
}

/// The entries of the map that hold something.
struct Map<'a> {
    entries: Vec<&'a Entry>,
}

impl<'a> Map<'a> {
    fn new(all: &'a [Entry]) -> Result<Self, Fault> {
        let mut entries: Vec<&Entry> = Vec::new();
        for entry in all {
            if !KEYS.contains(&entry.key.as_str()) {
                return Err(Fault::unknown(entry.line, "redis.", &entry.key, &KEYS));
            }
            if let Some(first) = entries.iter().find(|other| other.key == entry.key) {
                return Err(Fault::repeated(entry.line, &format!("redis.{}", entry.key), first.line));
            }
            entries.push(entry);
        }
        // What is optional to Redis may come from a variable that is not set.
        entries.retain(|entry| {
            let optional = matches!(
                entry.key.as_str(),
                "username" | "password" | "sentinel_username" | "sentinel_password" | "key_prefix"
            );
            let nothing = match &entry.value.content {
                Content::Nil => true,
                Content::Scalar(text) => text.is_empty(),
                _ => false,
            };
            !(optional && nothing)
        });
        Ok(Self { entries })
    }

    fn get(&self, name: &str) -> Option<&'a Entry> {
        self.entries.iter().copied().find(|entry| entry.key == name)
    }

    fn read(&self, entry: &Entry, rule: Rule) -> Result<Value, Fault> {
        rule.read(&entry.value).map_err(|mismatch| invalid(entry, mismatch))
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        self.get(name)
            .map(|entry| entry.value.scalar("text").map_err(|mismatch| invalid(entry, mismatch)))
            .transpose()
    }

    fn whole(&self, name: &str, min: u64, max: u64) -> Result<Option<&'a str>, Fault> {
        if let Some(entry) = self.get(name) {
            self.read(entry, Rule::Whole { min, max })?;
        }
        self.text(name)
    }

    /// Refuses settings that have no place beside `name`.
    fn only_with(&self, name: &str, others: &[&str]) -> Result<(), Fault> {
        match self.entries.iter().find(|entry| others.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(other) => Err(invalid(
                other,
                Mismatch::new(format!("nothing, as {name} is given"), format!("{} as well", other.key)),
            )),
        }
    }

    /// The url that says the same, checked; `line` is where the address starts.
    fn url(&self, line: usize) -> Result<String, Fault> {
        if let Some(entry) = self.get("url") {
            self.only_with("url", &KEYS[1..13])?;
            let url = self.text("url")?.unwrap_or_default();
            check_url(url).map_err(|mismatch| invalid(entry, mismatch))?;
            return Ok(url.to_owned());
        }
        let tls = match self.get("tls") {
            Some(entry) => self.read(entry, Rule::Flag)?.to_bool() == Some(true),
            None => false,
        };
        let scheme = if tls { "rediss" } else { "redis" };
        let db = self.whole("db", 0, 255)?.unwrap_or("0");
        let user = self.userinfo()?;
        let url = if let Some(path) = self.text("path")? {
            self.only_with("path", &["host", "port", "service", "sentinels", "cluster"])?;
            if tls {
                self.only_with("path", &["tls"])?;
            }
            format!("redis+unix://{user}{}?db={db}", encode(path, b"/"))
        } else if let Some(hosts) = self.hosts("sentinels")? {
            self.only_with("sentinels", &["host", "port", "cluster"])?;
            let mut url =
                format!("{scheme}-sentinel://{user}{hosts}/{db}?service={}", self.encoded("service")?);
            for name in ["sentinel_username", "sentinel_password"] {
                if self.get(name).is_some() {
                    url.push_str(&format!("&{name}={}", self.encoded(name)?));
                }
            }
            url
        } else if let Some(hosts) = self.hosts("cluster")? {
            self.only_with("cluster", &["host", "port", "service"])?;
            format!("{scheme}-cluster://{user}{hosts}/{db}")
        } else {
            self.only_with("host", &["service", "sentinel_username", "sentinel_password"])?;
            let host = match self.get("host") {
                Some(entry) => check_host(entry, &entry.value)?,
                None => "127.0.0.1",
            };
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            format!("{scheme}://{user}{host}:{}/{db}", self.whole("port", 1, 65_535)?.unwrap_or("6379"))
        };
        RedisConfig::new(&url).map_err(|error| {
            let (part, mismatch) = refusal(error);
            let entry = part.and_then(|part| self.get(&part.to_string()));
            Fault::invalid(entry.map_or(line, |entry| entry.line), "redis", mismatch)
        })?;
        Ok(url)
    }

    fn userinfo(&self) -> Result<String, Fault> {
        let username = self.encoded("username")?;
        Ok(match self.get("password") {
            Some(_) => format!("{username}:{}@", self.encoded("password")?),
            None if username.is_empty() => String::new(),
            None => format!("{username}@"),
        })
    }

    fn encoded(&self, name: &str) -> Result<String, Fault> {
        Ok(encode(self.text(name)?.unwrap_or_default(), b""))
    }

    /// A list of `host` or `host:port`.
    fn hosts(&self, name: &str) -> Result<Option<String>, Fault> {
        let Some(entry) = self.get(name) else { return Ok(None) };
        let Content::List(items) = &entry.value.content else {
            return Err(invalid(entry, Mismatch::new("a list of HOST:PORT", entry.value.describe())));
        };
        let hosts: Vec<&str> = items.iter().map(|item| check_host(entry, item)).collect::<Result<_, _>>()?;
        Ok(Some(hosts.join(",")))
    }
}

/// Refuses what would end the host inside a url.
fn check_host<'n>(entry: &Entry, node: &'n Node) -> Result<&'n str, Fault> {
    let expected = "a host name or address";
    let text = node.scalar(expected).map_err(|mismatch| invalid(entry, mismatch))?;
    if text.is_empty() || text.contains(['/', '@', '?', '#', ',', ' ']) {
        return Err(invalid(entry, Mismatch::new(expected, node.describe())));
    }
    Ok(text)
}

fn invalid(entry: &Entry, mismatch: Mismatch) -> Fault {
    Fault::invalid(entry.line, &format!("redis.{}", entry.key), mismatch)
}

/// Percent-encodes all but letters, digits, `-._~` and `keep`.
fn encode(text: &str, keep: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
