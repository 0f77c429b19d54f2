//! The first connection to Redis.

use cogworker_core::redis::Redis;
use cogworker_core::redis_config::{RedisConfig, URL_VAR};
use tokio_util::sync::CancellationToken;

use crate::config::Source;
use crate::outage::Outage;

/// Waits until Redis is connected to, and tells at once, and where, if that fails (LIFE-02). False when told
/// to stop before.
pub(super) async fn first_contact(
    redis: &Redis,
    named_by: Option<&Source>,
    outage: &Outage,
    stop: &CancellationToken,
) -> bool {
    let doing = doing(redis.config(), named_by);
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = redis.connected(|failure| outage.report_start(&doing, failure)) => true,
    }
}

/// "connecting to redis://10.0.0.1:6379/0, from env REDIS_URL".
fn doing(config: &RedisConfig, named_by: Option<&Source>) -> String {
    match named_by {
        None => format!("connecting to {config}"),
        Some(Source::Default) => format!("connecting to {config}, the default as {URL_VAR} is not set"),
        Some(source) => format!("connecting to {config}, from {source}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_named_with_the_place_that_names_it_and_without_its_password() {
        let url = "redis://u:secret@h:1/2";
        let told = |source: Option<Source>| {
            RedisConfig::new(url)
                .map(|config| doing(&config, source.as_ref()))
                .map_err(|error| error.to_string())
        };
        let place = "connecting to redis://u:***@h:1/2";
        assert_eq!(told(None), Ok(place.into()));
        assert_eq!(told(Some(Source::Default)), Ok(format!("{place}, the default as REDIS_URL is not set")));
        let file = Source::File { path: "c.yml".into(), line: 3 };
        assert_eq!(told(Some(file)), Ok(format!("{place}, from c.yml:3")));
        let variable = Source::Env { var: URL_VAR.into() };
        assert_eq!(told(Some(variable)), Ok(format!("{place}, from env REDIS_URL")));
    }
}
