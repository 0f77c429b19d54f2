//! Builds fred clients that never re-send a write, never give up on the server, and notice a
//! dead one. The values answer faults measured with a fault-injecting proxy.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::{Client, SubscriberClient};
use fred::interfaces::EventInterface;
use fred::types::Builder;
use fred::types::RespVersion;
use fred::types::config::{
    Config, PerformanceConfig, ReconnectPolicy, Server, ServerConfig, TcpConfig, TlsConfig, TlsConnector,
    UnresponsiveConfig,
};

use tokio::sync::broadcast::error::RecvError;

use super::RedisError;
use crate::redis_config::{HostPort, RedisConfig, Topology};

/// How long the client waits between two attempts to connect: from the first value, doubling,
/// up to the second, without end.
const RECONNECT_MS: (u32, u32) = (100, 2_000);

/// A client for commands and scripts.
pub(super) fn client(config: &RedisConfig) -> Result<Client, RedisError> {
    let client = builder(config)?.build().map_err(|error| RedisError::from_fred(&error))?;
    ask_configured_sentinels(&client, config);
    Ok(client)
}

/// A client for channels; it subscribes again by itself after a reconnect.
pub(super) fn subscriber(config: &RedisConfig) -> Result<SubscriberClient, RedisError> {
    let client = builder(config)?.build_subscriber_client().map_err(|error| RedisError::from_fred(&error))?;
    ask_configured_sentinels(&client, config);
    Ok(client)
}

/// Once connected, the library asks only the Sentinels that the one it asked had named, by the addresses
/// they had then: with those gone, or moved to other addresses as in a container platform, it would
/// never connect again. With none noted it asks the configured ones, by name. It has no public way to
/// forget them. Needs a tokio runtime.
fn ask_configured_sentinels(client: &impl EventInterface, config: &RedisConfig) {
    if !matches!(config.topology, Topology::Sentinel { .. }) {
        return;
    }
    let inner = Arc::downgrade(client.inner());
    let mut connections = client.reconnect_rx();
    tokio::spawn(async move {
        loop {
            match connections.recv().await {
                Ok(primary) => match inner.upgrade() {
                    Some(inner) => {
                        inner.server_state.write().kind.update_sentinel_nodes(&primary, Vec::new());
                    }
                    None => return,
                },
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
}

fn builder(config: &RedisConfig) -> Result<Builder, RedisError> {
    let mut builder = Builder::from_config(fred_config(config)?);
    let connect_timeout = config.connect_timeout;
    builder
        .with_connection_config(|connection| {
            // A repeated write counts twice; whoever called decides about a repeat.
            connection.max_command_attempts = 1;
            connection.connection_timeout = connect_timeout;
            connection.internal_command_timeout = Duration::from_secs(5);
            connection.unresponsive = UnresponsiveConfig {
                max_timeout: Some(Duration::from_secs(4)),
                interval: Duration::from_secs(1),
            };
            // `Redis` replaces the connection itself, also for such errors as only it can see; two who
            // do so would cut the calls on the new one.
            connection.reconnect_errors = Vec::new();
            connection.tcp = TcpConfig {
                nodelay: Some(true),
                // What a broken connection has not sent yet is dropped with it, not sent later.
                linger: Some(Duration::ZERO),
                user_timeout: Some(Duration::from_secs(20)),
                keepalive: Some(
                    socket2::TcpKeepalive::new()
                        .with_time(Duration::from_secs(10))
                        .with_interval(Duration::from_secs(5)),
                ),
                ..Default::default()
            };
        })
        .set_performance_config(PerformanceConfig {
            default_command_timeout: config.command_timeout,
            ..Default::default()
        })
        .set_policy(ReconnectPolicy::new_exponential(0, RECONNECT_MS.0, RECONNECT_MS.1, 2));
    Ok(builder)
}

fn fred_config(config: &RedisConfig) -> Result<Config, RedisError> {
    // Settings made in code were not checked when they were read; a cluster without a hash tag would
    // fail at every script, some after they wrote something.
    config.validate().map_err(|error| RedisError::Config(error.to_string()))?;
    let hosts = |hosts: &[HostPort]| -> Vec<Server> {
        hosts.iter().map(|node| Server::new(node.host.as_str(), node.port)).collect()
    };
    let server = match &config.topology {
        Topology::Single { host, port } => {
            ServerConfig::Centralized { server: Server::new(host.as_str(), *port) }
        }
        Topology::Unix { path } => ServerConfig::Unix { path: path.clone() },
        Topology::Cluster { hosts: nodes } => {
            ServerConfig::Clustered { hosts: hosts(nodes), policy: Default::default() }
        }
        Topology::Sentinel { hosts: nodes, service } => ServerConfig::Sentinel {
            hosts: hosts(nodes),
            service_name: service.clone(),
            username: config.sentinel_username.clone(),
            password: config.sentinel_password.clone(),
        },
    };
    let tls = if config.tls { Some(tls()?) } else { None };
    Ok(Config {
        // Redis away at the start is waited for like Redis away later.
        fail_fast: false,
        // Flat replies in RESP2 are taken for pub/sub messages far more often than in RESP3.
        version: RespVersion::RESP3,
        server,
        username: config.username.clone(),
        password: config.password.clone(),
        database: (config.db != 0).then_some(config.db),
        tls,
        ..Default::default()
    })
}

fn tls() -> Result<TlsConfig, RedisError> {
    TlsConnector::default_rustls().map(TlsConfig::from).map_err(|error| RedisError::from_fred(&error))
}
