//! Reading a Redis url.
//!
//! A parser of our own, as lists of hosts and socket paths are not urls by the general rules. An error
//! never repeats a piece of the url that could be (part of) a password.

use std::path::PathBuf;

use super::{
    DEFAULT_PORT, DEFAULT_SENTINEL_PORT, HostPort, RedisConfig, RedisConfigError, RedisPart, Topology,
};

const SCHEMES: &str = "redis://, rediss://, redis+unix://, unix://, redis-sentinel://, redis-cluster:// \
                       (or valkey in place of redis)";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Single,
    Unix,
    Sentinel,
    Cluster,
}

pub(super) fn parse(url: &str) -> Result<RedisConfig, RedisConfigError> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(RedisConfigError::invalid(
            RedisPart::Scheme,
            format!("a url that starts with one of {SCHEMES}"),
            "none",
        ));
    };
    let (kind, tls) = read_scheme(scheme)?;
    if rest.contains('#') {
        return Err(RedisConfigError::invalid(
            RedisPart::Fragment,
            "none (in a password, write # as %23)",
            "a #",
        ));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    // An @ after the first slash means that a password holds an unescaped slash, so what looks like
    // a host or port is a piece of it.
    let exposed = path.contains('@') || query.contains('@');
    let (userinfo, hosts) = match authority.rsplit_once('@') {
        Some((userinfo, hosts)) => (Some(userinfo), hosts),
        None => (None, authority),
    };
    let mut config = RedisConfig { tls, ..RedisConfig::default() };
    if let Some(userinfo) = userinfo {
        let (username, password) = match userinfo.split_once(':') {
            Some((username, password)) => (username, Some(password)),
            None => (userinfo, None),
        };
        config.username = Some(decode(username, RedisPart::Username)?).filter(|name| !name.is_empty());
        config.password = password.map(|text| decode(text, RedisPart::Password)).transpose()?;
        config.password = config.password.filter(|text| !text.is_empty());
    }
    if exposed && kind != Kind::Unix {
        return Err(RedisConfigError::invalid(
            RedisPart::Host,
            "a password without / and ? (write %2F and %3F)",
            "an @ after the host",
        ));
    }
    let service = read_query(query, kind, &mut config)?;
    let default_port = if kind == Kind::Sentinel { DEFAULT_SENTINEL_PORT } else { DEFAULT_PORT };
    config.topology = match kind {
        Kind::Unix => unix(hosts, path)?,
        Kind::Single => {
            let HostPort { host, port } = read_host(hosts, default_port)?;
            let host = if host.is_empty() { "127.0.0.1".into() } else { host };
            Topology::Single { host, port }
        }
        Kind::Sentinel => Topology::Sentinel {
            hosts: read_hosts(hosts, default_port)?,
            service: service.ok_or_else(|| {
                RedisConfigError::invalid(
                    RedisPart::Service,
                    "?service=NAME, the name of the primary that the sentinels watch",
                    "none",
                )
            })?,
        },
        Kind::Cluster => Topology::Cluster { hosts: read_hosts(hosts, default_port)? },
    };
    let db = path.strip_prefix('/').unwrap_or(path);
    if kind != Kind::Unix && !db.is_empty() {
        config.db = read_db(db)?;
    }
    if kind == Kind::Cluster && config.db != 0 {
        return Err(RedisConfigError::invalid(
            RedisPart::Db,
            "0, the only database of a cluster",
            config.db.to_string(),
        ));
    }
    Ok(config)
}

fn read_scheme(scheme: &str) -> Result<(Kind, bool), RedisConfigError> {
    let lower = scheme.to_ascii_lowercase();
    let name = lower.replacen("valkey", "redis", 1);
    Ok(match name.as_str() {
        "redis" => (Kind::Single, false),
        "rediss" => (Kind::Single, true),
        "redis+unix" | "unix" => (Kind::Unix, false),
        "redis-sentinel" => (Kind::Sentinel, false),
        "rediss-sentinel" | "redis-sentinels" => (Kind::Sentinel, true),
        "redis-cluster" => (Kind::Cluster, false),
        "rediss-cluster" | "redis-clusters" => (Kind::Cluster, true),
        _ => {
            // A url without a scheme can have :// in its password, so only short plain words are shown.
            let plain = lower.len() <= 20
                && lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
            let found = if plain { format!("{lower:?}") } else { "something else".into() };
            return Err(RedisConfigError::invalid(RedisPart::Scheme, format!("one of {SCHEMES}"), found));
        }
    })
}

/// Reads the query into `config`; the name of the service is for the caller.
fn read_query(query: &str, kind: Kind, config: &mut RedisConfig) -> Result<Option<String>, RedisConfigError> {
    let mut service = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, kind) {
            ("db", _) => config.db = read_db(value)?,
            ("service", Kind::Sentinel) => {
                service = Some(decode(value, RedisPart::Service)?).filter(|name| !name.is_empty());
            }
            ("sentinel_username", Kind::Sentinel) => {
                config.sentinel_username = Some(decode(value, RedisPart::Username)?);
            }
            ("sentinel_password", Kind::Sentinel) => {
                config.sentinel_password = Some(decode(value, RedisPart::Password)?);
            }
            (_, Kind::Sentinel) => {
                return Err(RedisConfigError::invalid(
                    RedisPart::Query,
                    "service, db, sentinel_username or sentinel_password",
                    shown(name),
                ));
            }
            _ => return Err(RedisConfigError::invalid(RedisPart::Query, "db", shown(name))),
        }
    }
    Ok(service)
}

/// A name that does not look like an identifier may be a piece of a password with an unescaped `?`.
fn shown(name: &str) -> String {
    if name.len() <= 30 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        format!("{name:?}")
    } else {
        "another name".into()
    }
}

fn unix(hosts: &str, path: &str) -> Result<Topology, RedisConfigError> {
    let expected = "an absolute path after three slashes, as in unix:///run/redis.sock";
    if !hosts.is_empty() {
        return Err(RedisConfigError::invalid(RedisPart::Path, expected, "a host"));
    }
    let path = decode(path, RedisPart::Path)?;
    if path.len() < 2 {
        return Err(RedisConfigError::invalid(RedisPart::Path, expected, "nothing"));
    }
    Ok(Topology::Unix { path: PathBuf::from(path) })
}

fn read_hosts(text: &str, default_port: u16) -> Result<Vec<HostPort>, RedisConfigError> {
    text.split(',')
        .map(|each| {
            let endpoint = read_host(each, default_port)?;
            if endpoint.host.is_empty() {
                return Err(RedisConfigError::invalid(
                    RedisPart::Host,
                    "HOST:PORT,HOST:PORT,…",
                    "an empty host",
                ));
            }
            Ok(endpoint)
        })
        .collect()
}

fn read_host(text: &str, default_port: u16) -> Result<HostPort, RedisConfigError> {
    let (host, port) = if let Some(bracketed) = text.strip_prefix('[') {
        let Some((host, rest)) = bracketed.split_once(']') else {
            return Err(RedisConfigError::invalid(RedisPart::Host, "an IPv6 address in [ ]", "no ]"));
        };
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if rest.is_empty() => (host, None),
            None => return Err(RedisConfigError::invalid(RedisPart::Port, "a : after the ]", "other text")),
        }
    } else {
        match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port = match port.filter(|port| !port.is_empty()) {
        None => default_port,
        Some(port) => match port.parse() {
            Ok(number) if number != 0 => number,
            _ => {
                // Not a number: it may be a password that stands in the wrong place.
                let numeric = port.bytes().all(|byte| byte.is_ascii_digit());
                let found = if numeric { port } else { "text that is not a number" };
                return Err(RedisConfigError::invalid(RedisPart::Port, "a number from 1 to 65535", found));
            }
        },
    };
    if host.chars().any(|char| char.is_whitespace() || char.is_control()) {
        return Err(RedisConfigError::invalid(
            RedisPart::Host,
            "a host name or address",
            "white space in it",
        ));
    }
    Ok(HostPort::new(host, port))
}

fn read_db(text: &str) -> Result<u8, RedisConfigError> {
    text.parse()
        .map_err(|_| RedisConfigError::invalid(RedisPart::Db, "a number from 0 to 255", shown_number(text)))
}

fn shown_number(text: &str) -> String {
    if text.len() <= 20 { format!("{text:?}") } else { "a long text".into() }
}

/// Percent-decodes; never shows the text, as it may be a password.
fn decode(text: &str, part: RedisPart) -> Result<String, RedisConfigError> {
    let bad = || {
        RedisConfigError::invalid(part, "% only before two hexadecimal digits (write % as %25)", "another %")
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16)).ok_or_else(bad);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).map_err(|_| RedisConfigError::invalid(part, "unicode text", "other bytes"))
}
