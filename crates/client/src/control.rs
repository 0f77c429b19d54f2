//! Telling a process what to do.

use cogworker_core::redis::{Call, RedisError};

use crate::Process;

/// What a process can be told (PSET-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control {
    /// Take no further jobs.
    Quiet,
    /// Take jobs again.
    Resume,
    /// Finish the running jobs and exit.
    Stop,
}

impl Control {
    /// As it is sent.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Resume => "resume",
            Self::Stop => "stop",
        }
    }
}

impl Process {
    /// Sends it a message, and tells whether anyone heard it: a process that is just reconnecting does not, and
    /// messages are not kept. In a cluster the answer is only sure when it is true.
    ///
    /// # Errors
    /// When Redis does not take the message.
    pub async fn send(&self, control: Control) -> Result<bool, RedisError> {
        let channel = self.redis.keys().signal_channel(&self.identity);
        let heard = self.redis.command("PUBLISH", Call::new().arg(channel).arg(control.name())).await?;
        Ok(heard.int()? > 0)
    }
}
