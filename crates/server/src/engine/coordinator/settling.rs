//! Sending outcomes to Redis, and what comes of them.

use std::time::Instant;

use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Settled, SideStep};
use cogworker_core::time::EpochSeconds;
use tracing::warn;

use super::fetching::pause_after;
use super::{Engine, REFUSED_PAUSE};
use crate::engine::within::within;

impl Engine {
    pub(super) fn plan_settle(&mut self) {
        if self.settle.is_some() {
            return;
        }
        let Some(batch) = self.settler.next_batch(Instant::now(), self.history) else { return };
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        let limit = self.limits.stuck_call;
        self.settle = Some(Box::pin(async move {
            let call = scripts::settle_jobs(&redis, &identity, EpochSeconds::now(), batch);
            within("settling jobs", limit, call, redis.reset()).await
        }));
    }

    pub(super) fn settled(&mut self, result: Result<Settled, RedisError>) {
        self.settle = None;
        match result {
            Ok(settled) => {
                self.outage.recovered("settling jobs");
                let effects = self.settler.settled(settled, Instant::now() + REFUSED_PAUSE);
                for jid in effects.lost {
                    warn!(
                        jid,
                        "lost ownership of a job: it is no longer on this process's list, so nothing was written for it"
                    );
                }
                if let Some(error) = effects.error {
                    self.outage.report("settling a job", &error);
                }
                for step in SideStep::ALL {
                    match effects.side_errors.iter().find(|(failed, _)| *failed == step) {
                        Some((_, error)) => self.outage.report(step.name(), error),
                        None => self.outage.recovered(step.name()),
                    }
                }
                for (entry, failure) in effects.deaths {
                    self.deaths.tell(entry, failure);
                }
                if effects.retried {
                    self.poller_wake.notify_one();
                }
            }
            Err(error) => {
                self.outage.report("settling jobs", &error);
                self.suspicious |= error.fate_is_unknown();
                self.settler.failed(error.fate_is_unknown(), Instant::now() + pause_after(&error));
            }
        }
    }
}
