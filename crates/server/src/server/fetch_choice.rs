//! Choosing between reliable and basic fetch.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cogworker_core::redis::{Redis, ServerVersion};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::config::{Config, FetchMode};
use crate::engine::Gauges;
use crate::outage::Outage;

/// Chooses how jobs are taken: reliably, unless the settings or the server say otherwise (MODE-01
/// to MODE-05). False when told to stop before Redis could be asked.
pub(super) async fn decide_fetch(
    redis: &Redis,
    config: &Config,
    gauges: &Gauges,
    outage: &Outage,
    stop: &CancellationToken,
) -> bool {
    const PLACE: &str = "asking for redis' version";
    if config.fetch == FetchMode::Basic {
        gauges.basic.store(true, Ordering::Relaxed);
        return true;
    }
    loop {
        let version = tokio::select! {
            biased;
            () = stop.cancelled() => return false,
            version = redis.server_version() => version,
        };
        match version {
            Ok(version) => {
                outage.recovered(PLACE);
                if let Some(version) = version.filter(|version| *version < ServerVersion::RELIABLE_FETCH) {
                    warn!(
                        "reliable fetch needs redis 6.2 and this is {version}: falling back to basic fetch, \
                         which loses what a crashed process was running"
                    );
                    gauges.basic.store(true, Ordering::Relaxed);
                }
                return true;
            }
            Err(failure) if !failure.is_outage() => {
                // A server that may not be asked is taken for a recent one.
                outage.report(PLACE, &failure);
                return true;
            }
            Err(failure) => outage.report(PLACE, &failure),
        }
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}
