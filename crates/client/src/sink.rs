//! A place for jobs that is not Redis: what clients for tests are made of.

use std::pin::Pin;
use std::sync::Arc;

use cogworker_core::jid::Jid;
use cogworker_core::scripts::Push;
use cogworker_core::time::EpochSeconds;

use crate::ClientError;

/// What taking in jobs comes to: one element for each, false for a duplicate.
pub type Taken = Pin<Box<dyn Future<Output = Result<Vec<bool>, ClientError>> + Send>>;

/// Takes the jobs of a [`Client`](crate::Client) after its checks and its middleware, as the bytes that
/// would be in Redis. `cogworker_testing` has two of them; the trait may change at any time.
pub trait Sink: Send + Sync + 'static {
    /// Takes jobs in, in order. Each brings its unique lock; the sink keeps to it as Redis would.
    fn take(self: Arc<Self>, jobs: Vec<Push>) -> Taken;

    /// Who holds a unique lock.
    fn owner_of(&self, lock: &str) -> Option<Jid>;

    /// The clock that delays count from.
    fn now(&self) -> EpochSeconds;
}
