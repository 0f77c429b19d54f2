//! What others see of the running jobs.

use std::time::Instant;

use cogworker_core::formats::PRESENCE_TTL;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;

use super::{BOARD_PERIOD, Engine, REFUSED_PAUSE};
use crate::engine::within::within;

impl Engine {
    pub(super) fn plan_board(&mut self) {
        let now = Instant::now();
        if self.board.is_some() || now < self.next_board || !self.slots.board_is_live() {
            return;
        }
        self.next_board = now + BOARD_PERIOD;
        let (show, clear) = self.slots.board_changes();
        if show.is_empty() && clear.is_empty() {
            return;
        }
        let (redis, identity) = (self.redis.clone(), self.identity.clone());
        let ttl = PRESENCE_TTL.as_secs();
        let limit = self.limits.stuck_call;
        self.board = Some(Box::pin(async move {
            let call = scripts::publish_work(&redis, &identity, ttl, show, &clear);
            within("showing running jobs", limit, call, redis.reset()).await
        }));
    }

    pub(super) fn board_written(&mut self, result: Result<(), RedisError>) {
        self.board = None;
        match result {
            Ok(()) => self.outage.recovered("showing running jobs"),
            Err(error) => {
                self.outage.report("showing running jobs", &error);
                self.slots.doubt_board();
                self.next_board = Instant::now() + REFUSED_PAUSE;
            }
        }
    }
}
