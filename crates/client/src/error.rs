//! Why a client's call failed.

use cogworker_core::failure::Failure;
use cogworker_core::jid::Jid;
use cogworker_core::new_job::NewJobError;
use cogworker_core::redis::RedisError;

use crate::middleware::MiddlewareError;

/// A failed call of the client.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The job is not as it must be. Nothing was written.
    #[error(transparent)]
    Job(#[from] NewJobError),
    /// A middleware failed; [`MiddlewareError::get_ref`] is its error. Nothing was written.
    #[error(transparent)]
    Middleware(#[from] MiddlewareError),
    /// Redis did not carry the call out, or its reply got lost: see
    /// [`RedisError::fate_is_unknown`].
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// A periodic entry is published in a form that cannot be read.
    #[error("read the periodic entry {pjid}: its definition is damaged")]
    UnreadableEntry {
        /// The entry's id.
        pjid: String,
    },
    /// The client is one for tests that runs each job at once, and the job failed.
    #[error("run a job where it is pushed: {}: {}", .0.class, .0.message)]
    JobFailed(Failure),
    /// A bulk push stopped on its way.
    #[error("push all jobs: {}, failed to {source}", told(.fates))]
    Bulk {
        /// What became of each job of the call, in order. Jobs go out queue by queue, so those that were
        /// pushed need not be the first ones.
        fates: Vec<JobFate>,
        /// Why it stopped. The message tells it, so [`source`](std::error::Error::source) does not again.
        r#source: RedisError,
    },
}

/// What became of one job of a [bulk push](crate::Client::push_bulk) that stopped on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobFate {
    /// Settled as in a push that works: pushed, or `None` where a middleware stopped it or it is a duplicate.
    Done(Option<Jid>),
    /// Pushed or not: the reply got lost.
    Unknown(Jid),
    /// Certainly not pushed.
    NotPushed,
}

fn told(fates: &[JobFate]) -> String {
    let count = |wanted: fn(&JobFate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
    let done = count(|fate| matches!(fate, JobFate::Done(_)));
    match count(|fate| matches!(fate, JobFate::Unknown(_))) {
        0 => format!("after {done} of {}", fates.len()),
        unknown => format!("after {done} of {}, and perhaps {unknown} more", fates.len()),
    }
}

impl ClientError {
    /// True when what was asked for may have been done all the same: the reply got lost. Pushing the
    /// job again, with the same jid, then means that it may run twice; a
    /// [unique](cogworker_core::options::JobOptions::unique) job can be pushed again without that. Of a bulk
    /// push, see each job's [`JobFate`].
    pub fn fate_is_unknown(&self) -> bool {
        match self {
            Self::Redis(source) | Self::Bulk { source, .. } => source.fate_is_unknown(),
            Self::Job(_) | Self::Middleware(_) | Self::UnreadableEntry { .. } | Self::JobFailed(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lost_reply_leaves_the_fate_open() {
        let lost = || RedisError::TimedOut("5 s".into());
        assert!(ClientError::from(lost()).fate_is_unknown());
        assert!(ClientError::Bulk { fates: vec![], source: lost() }.fate_is_unknown());
        assert!(!ClientError::from(RedisError::OutOfMemory("full".into())).fate_is_unknown());
    }

    #[test]
    fn a_bulk_pushs_message_tells_its_cause_and_a_chain_of_causes_does_not_again() {
        let source = RedisError::TimedOut("5 s".into());
        let error = ClientError::Bulk { fates: vec![JobFate::Done(None), JobFate::NotPushed], source };
        assert_eq!(error.to_string(), "push all jobs: after 1 of 2, failed to get redis' reply in time: 5 s");
        assert!(std::error::Error::source(&error).is_none());
    }
}
