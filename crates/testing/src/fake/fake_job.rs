//! A job that a fake holds, as a test sees it.

use bytes::Bytes;
use cogworker_core::args;
use cogworker_core::jid::Jid;
use cogworker_core::job::Job;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;
use serde_json::Value;

use super::store::Stored;

/// A job in a [`Fake`](crate::Fake): read back from the JSON that would be in Redis.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FakeJob<J> {
    /// Its id.
    pub jid: Jid,
    /// Its class.
    pub class: String,
    /// The job with its args; of a job of any class, the args as JSON.
    pub args: J,
    /// Its queue.
    pub queue: String,
    /// When it is due; `None` for one that was pushed to run at once.
    pub at: Option<EpochSeconds>,
    /// The job as stored, byte for byte.
    pub raw: Bytes,
}

impl<J> FakeJob<J> {
    fn new(stored: Stored, args: J) -> Self {
        let Stored { raw, jid, class, queue, due, .. } = stored;
        Self { jid, class, args, queue, at: due, raw }
    }

    /// The args as stored.
    pub fn args_json(&self) -> &str {
        args_json(&self.raw)
    }

    /// Any other field, `None` when it is missing. Numbers beyond those of `f64` lose digits here; they
    /// are whole in [`raw`](Self::raw).
    pub fn field(&self, key: &str) -> Option<Value> {
        serde_json::from_str(RawJob::parse(&self.raw).ok()?.field(key)?.get()).ok()
    }
}

impl<J: Job> FakeJob<J> {
    #[track_caller]
    #[expect(clippy::panic, reason = "it fails the test that reads other args than were pushed")]
    pub(super) fn read(stored: Stored) -> Self {
        match args::decode(J::CLASS, args_json(&stored.raw)) {
            Ok(args) => Self::new(stored, args),
            Err(error) => panic!("{error}, in {}", String::from_utf8_lossy(&stored.raw)),
        }
    }
}

impl FakeJob<Value> {
    pub(super) fn untyped(stored: Stored) -> Self {
        let args = serde_json::from_str(args_json(&stored.raw)).unwrap_or_default();
        Self::new(stored, args)
    }
}

fn args_json(raw: &Bytes) -> &str {
    RawJob::parse(raw).map_or("[]", |job| job.args_json())
}
