//! Taking over jobs whose delivery got lost.

use std::time::Instant;

use bytes::Bytes;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;
use tracing::info;

use super::{Engine, LOOK_LIMIT, RECONCILE_PERIODS};
use crate::engine::claim::Claim;

impl Engine {
    pub(super) fn plan_look(&mut self) {
        let now = Instant::now();
        if self.look.is_some() || now < self.next_look {
            return;
        }
        // Never due while it is away: the reply sets the next time.
        self.next_look = now + RECONCILE_PERIODS.0;
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        self.look =
            Some(Box::pin(async move { scripts::list_inprogress(&redis, &identity, LOOK_LIMIT).await }));
    }

    pub(super) fn looked(&mut self, result: Result<Vec<Bytes>, RedisError>) {
        self.look = None;
        match result {
            Ok(listed) => {
                self.outage.recovered("looking for strays");
                // An idle wait tells nothing for a long time; one that has not failed since the last
                // look is well.
                if !std::mem::take(&mut self.wait_failed) {
                    self.outage.recovered("waiting for jobs");
                }
                let buffered = self.buffer.iter().map(|claim| &claim.raw);
                let running = self.slots.running().map(|running| &running.claim.raw);
                let held = buffered.chain(running).chain(self.settler.held());
                let strays = self.reconciler.look(&listed, held);
                self.suspicious = self.reconciler.has_suspects();
                if !strays.is_empty() {
                    info!("took over {} jobs whose delivery got lost", strays.len());
                }
                for raw in strays {
                    let queue = RawJob::parse(&raw)
                        .ok()
                        .and_then(|job| job.queue().map(|name| self.queues.shared_name(name)))
                        .unwrap_or_else(|| self.queues.shared_name("default"));
                    let claim = Claim { raw, queue };
                    if self.quiet { self.give_back(claim) } else { self.buffer.push_back(claim) }
                }
            }
            Err(error) => self.outage.report("looking for strays", &error),
        }
        let (calm, suspicious) = RECONCILE_PERIODS;
        self.next_look = Instant::now() + if self.suspicious { suspicious } else { calm };
    }
}
