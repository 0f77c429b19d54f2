//! What `--print-config` prints.

use std::fmt::Write;

use crate::config::{Config, Key, Sources};

pub(super) fn report(config: &Config, sources: &Sources) -> String {
    let lines: Vec<(String, String)> = Key::ALL
        .iter()
        .copied()
        .map(|key| (format!("{key}: {}", value(config, key)), sources.get(key).to_string()))
        .collect();
    let width = lines.iter().map(|(setting, _)| setting.chars().count()).max().unwrap_or_default();
    lines.iter().fold(String::new(), |mut report, (setting, source)| {
        // Writing to a string cannot fail.
        let _ = writeln!(report, "{setting:width$}  # {source}");
        report
    })
}

fn value(config: &Config, key: Key) -> String {
    let optional = |text: Option<String>| text.map_or_else(|| "~".into(), |text| format!("{text:?}"));
    match key {
        Key::Concurrency => config.concurrency.to_string(),
        Key::Queues => format!("{:?}", config.queues),
        Key::Fetch => config.fetch.to_string(),
        Key::FetchIdleMaxInterval => config.fetch_idle_max_interval.as_secs_f64().to_string(),
        Key::OrphanThreshold => config.orphan_threshold.as_secs_f64().to_string(),
        Key::MaxOrphanings => config.max_orphanings.to_string(),
        Key::UniqueLockTtl => config.unique_lock_ttl.as_secs_f64().to_string(),
        Key::PeriodicCatchUp => config.periodic_catch_up.to_string(),
        Key::ShutdownTimeout => config.shutdown_timeout.as_secs_f64().to_string(),
        Key::Environment => format!("{:?}", config.environment),
        Key::Logfile => optional(config.logfile.as_ref().map(|path| path.display().to_string())),
        Key::LogFormat => config.log_format.to_string(),
        Key::HealthBind => optional(config.health_bind.map(|address| address.to_string())),
        Key::Redis => format!("{:?}", config.redis.to_string()),
        Key::RedisKeyPrefix => optional(config.redis.key_prefix.clone()),
        Key::RedisConnectTimeout => config.redis.connect_timeout.as_secs_f64().to_string(),
        Key::RedisCommandTimeout => config.redis.command_timeout.as_secs_f64().to_string(),
    }
}
