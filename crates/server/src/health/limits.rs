//! When a sign of life is too old.

use std::time::Duration;

use crate::config::Config;

/// A fetch that is under way for longer makes the worker unready, whatever the command timeout:
/// a stuck one shows within 30 s.
const LONGEST_CALL: Duration = Duration::from_secs(25);

/// When a worker is taken for stuck. Only tests set other values than those of
/// [`of`](Self::of).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthLimits {
    /// The engine's loop turns at least so often.
    pub turn: Duration,
    /// The engine's thread has not turned for so long: it is logged, and the worker is not ready.
    pub stall: Duration,
    /// The engine's thread has not turned for so long: the process is not alive.
    pub dead: Duration,
    /// The oldest that the last good heartbeat may be.
    pub beat: Duration,
    /// The oldest that the poller's last sign of life may be.
    pub poll: Duration,
    /// A fetch that takes longer makes the worker unready.
    pub slow_call: Duration,
    /// A call to Redis that takes longer is given up and its connection replaced.
    pub stuck_call: Duration,
    /// The longest that Redis is asked to block one round of a wait.
    pub wait_block: Duration,
    /// A wait that outlives its block time by more makes the worker unready.
    pub slow_wait: Duration,
    /// A wait that outlives its block time by more is given up and its connection replaced.
    pub stuck_wait: Duration,
}

impl HealthLimits {
    /// The limits of a worker with these settings.
    pub fn of(config: &Config) -> Self {
        let command = config.redis.command_timeout;
        // A script that the server forgot costs two commands.
        let stuck_call = command * 2 + Duration::from_secs(5);
        Self {
            turn: Duration::from_secs(1),
            stall: Duration::from_secs(10),
            dead: Duration::from_secs(30),
            beat: config.timings.beat * 4,
            slow_call: (command + Duration::from_secs(2)).min(LONGEST_CALL),
            // It sleeps for up to 5 s between two calls.
            poll: stuck_call + Duration::from_secs(15),
            stuck_call,
            wait_block: Duration::from_secs(30),
            slow_wait: Duration::from_secs(5),
            // The client itself gives up 3 s after the block time.
            stuck_wait: Duration::from_secs(10),
        }
    }
}
