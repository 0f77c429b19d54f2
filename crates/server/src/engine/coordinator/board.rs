//! What others see of the running jobs.

use std::time::Instant;

use cogworker_core::formats::PRESENCE_TTL;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{self, Held, PublishedWork, StatusWrite};
use cogworker_core::time::EpochSeconds;

use super::{BOARD_PERIOD, Engine, REFUSED_PAUSE};
use crate::engine::within::within;
use crate::progress::PLACE;
use crate::run::Run;

impl Engine {
    pub(super) fn plan_board(&mut self) {
        let now = Instant::now();
        if self.board.is_some() || now < self.next_board || !self.slots.board_is_live() {
            return;
        }
        self.next_board = now + BOARD_PERIOD;
        let changes = self.slots.board_changes();
        let mut work =
            PublishedWork { running: changes.show, ended: changes.clear, ..PublishedWork::default() };
        if let Some(ttl) = self.status_ttl {
            work.status_ttl = ttl;
            let keys = self.redis.keys();
            let listed = self.held == Held::Listed;
            let mut write = |run: &Run, mut fields: Vec<(String, String)>| {
                fields.push(("update_time".into(), EpochSeconds::now().to_string()));
                let job = listed.then(|| run.raw().clone());
                work.statuses.push(StatusWrite { key: keys.status(run.jid().as_str()), job, fields });
            };
            for run in changes.begun {
                let fields = [("status", "working"), ("class", run.class()), ("queue", run.queue())];
                write(&run, fields.map(|(name, value)| (name.into(), value.into())).into());
            }
            // What a job stored shortly after another write waits for this.
            for running in self.slots.running() {
                if let Some(fields) = running.run.due_progress(now) {
                    write(&running.run, fields);
                }
            }
        }
        if work.is_empty() {
            return;
        }
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        let ttl = PRESENCE_TTL.as_secs();
        let limit = self.limits.stuck_call;
        self.board = Some(Box::pin(async move {
            let call = scripts::publish_work(&redis, &identity, ttl, work);
            within(PLACE, limit, call, redis.reset()).await
        }));
    }

    pub(super) fn board_written(&mut self, result: Result<Option<RedisError>, RedisError>) {
        self.board = None;
        match result {
            Ok(status_error) => {
                self.outage.recovered(PLACE);
                if let Some(error) = status_error {
                    self.outage.report("writing status and history", &error);
                }
            }
            Err(error) => {
                self.outage.report(PLACE, &error);
                self.slots.doubt_board();
                // What jobs told of themselves may have been in it.
                self.slots.running().for_each(|running| running.run.doubt_progress());
                self.next_board = Instant::now() + REFUSED_PAUSE;
            }
        }
    }
}
