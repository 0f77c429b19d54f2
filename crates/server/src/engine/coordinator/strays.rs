//! Comparing the own in-progress list with what this process holds.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Held};
use tracing::{info, warn};

use super::{Engine, GLANCES, LOOK_LIMIT, RECONCILE_PERIODS};
use crate::counted::jobs;
use crate::engine::claim::Claim;
use crate::engine::slots::Running;
use crate::engine::within::within;

/// A delivery can be later than its adoption by as much as a call may take.
const LATE_DELIVERY: Duration = Duration::from_secs(60);

impl Engine {
    pub(super) fn plan_look(&mut self) {
        let now = Instant::now();
        if self.look.is_some() {
            return;
        }
        if self.suspicious {
            self.next_look = self.next_look.min(now + RECONCILE_PERIODS.1);
        }
        if now < self.next_look {
            return;
        }
        // Never due while it is away: the reply sets the next time.
        self.next_look = now + RECONCILE_PERIODS.0;
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        // As many as are held here are most likely just those.
        let exact = self.suspicious || !self.missing.is_empty() || self.glances >= GLANCES;
        self.glances = if exact { 0 } else { self.glances + 1 };
        let known = (!exact).then(|| self.buffer.len() + self.slots.busy() + self.settler.count());
        let limit = self.limits.stuck_call;
        self.look = Some(Box::pin(async move {
            let call = scripts::list_inprogress(&redis, &identity, LOOK_LIMIT, known);
            within("looking for strays", limit, call, redis.reset()).await
        }));
    }

    pub(super) fn looked(&mut self, result: Result<Option<Vec<Bytes>>, RedisError>) {
        self.look = None;
        match result {
            Ok(listed) => {
                self.outage.recovered("looking for strays");
                // An idle wait tells nothing for a long time; one that has not failed since the last
                // look is well.
                let wait_failed = std::mem::take(&mut self.wait_failed);
                if !wait_failed {
                    self.outage.recovered("waiting for jobs");
                }
                if self.settler.fate_is_open() {
                    // A lost call may still give back what stands there.
                    self.suspicious = true;
                } else if let Some(listed) = listed {
                    self.adopt_strays(&listed);
                    if listed.len() < LOOK_LIMIT {
                        self.note_missing(&listed);
                    }
                }
                self.suspicious |= wait_failed;
            }
            Err(error) => self.outage.report("looking for strays", &error),
        }
        let (calm, suspicious) = RECONCILE_PERIODS;
        let soon = self.suspicious || !self.missing.is_empty();
        self.next_look = Instant::now() + if soon { suspicious } else { calm };
    }

    /// What is on the list and nobody here holds was moved by a call whose reply got lost (REC-01).
    fn adopt_strays(&mut self, listed: &[Bytes]) {
        let buffered = self.buffer.iter().map(|claim| &claim.raw);
        let running = self.slots.running().map(|running| &running.claim.raw);
        let held = buffered.chain(running).chain(self.settler.held());
        let strays = self.reconciler.look(listed, held);
        self.suspicious = self.reconciler.has_suspects();
        if !strays.is_empty() {
            info!("took over {} whose delivery got lost", jobs(strays.len()));
        }
        let now = Instant::now();
        self.adopted.retain(|(_, at)| now - *at < LATE_DELIVERY);
        for raw in strays {
            self.adopted.push_back((raw.clone(), now));
            let claim = self.claim_of_stray(raw);
            if self.takes_jobs() { self.buffer.push_back(claim) } else { self.give_back(claim) }
        }
    }

    /// Which queue it came from is not known any more: its own, then, or `default` (REQ-02).
    pub(super) fn claim_of_stray(&self, raw: Bytes) -> Claim {
        let job = RawJob::parse(&raw);
        let queue = job.as_ref().ok().and_then(|job| job.queue()).unwrap_or("default");
        let queue = self.queues.shared_name(queue);
        Claim { raw, queue, held: Held::Listed }
    }

    /// True for the delivery, by a call that was under way then, of a job that was taken over
    /// before it came: it must not run twice. Should it have been another one of the same bytes,
    /// the next looks find that one.
    pub(super) fn was_adopted(&mut self, raw: &Bytes, call_begun: Instant, held: Held) -> bool {
        let is_it = |(adopted, at): &(Bytes, Instant)| adopted == raw && call_begun < *at;
        let Some(index) = self.adopted.iter().position(is_it).filter(|_| held == Held::Listed) else {
            return false;
        };
        self.adopted.remove(index);
        self.suspicious = true;
        true
    }

    /// A running job that two looks do not find on the list is not ours any more: another process
    /// took this one for dead, or the list was lost. It is asked to end, once; it is not stopped,
    /// since after a loss of data nobody else has it.
    fn note_missing(&mut self, listed: &[Bytes]) {
        let mut found: HashMap<&Bytes, usize> = HashMap::new();
        for raw in listed {
            *found.entry(raw).or_default() += 1;
        }
        let mut missing = HashSet::new();
        let ours = |it: &Running| it.claim.held == Held::Listed && !it.lost;
        for (run, running) in self.slots.runs().filter(|(_, it)| ours(it)) {
            match found.get_mut(&running.claim.raw).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => drop(missing.insert(run)),
            }
        }
        for run in missing.intersection(&self.missing).copied().collect::<Vec<_>>() {
            self.gauges.running_locks.end(run);
            if let Some(jid) = self.slots.lose(run) {
                warn!(
                    jid,
                    "lost a job while it runs: it is no longer on this process's list; asked it to end"
                );
            }
        }
        self.missing = missing;
    }
}
