//! Gives up a call to Redis that should have ended long ago.

use std::future::Future;
use std::time::Duration;

use cogworker_core::redis::RedisError;
use tokio::time::timeout;
use tracing::error;

/// Awaits `call` for at most `limit`, which is far beyond the client's own: the client library got
/// stuck. The call is dropped, the connection replaced by `reset`, and its fate is unknown.
pub(crate) async fn within<T>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, RedisError>>,
    reset: impl Future<Output = ()>,
) -> Result<T, RedisError> {
    match timeout(limit, call).await {
        Ok(result) => result,
        Err(_) => {
            let seconds = limit.as_secs_f64();
            error!("{what} got stuck: given up after {seconds:.1} s, its connection is replaced");
            reset.await;
            Err(RedisError::TimedOut(format!("stuck for {seconds:.1} s")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_call_that_never_ends_is_given_up_its_connection_replaced_and_its_fate_unknown() {
        let reset = AtomicBool::new(false);
        let replace = async { reset.store(true, Ordering::Relaxed) };
        let call = pending::<Result<(), RedisError>>();
        let failure = within("fetching jobs", Duration::from_millis(1), call, replace).await.unwrap_err();
        assert!(failure.fate_is_unknown());
        assert!(reset.into_inner());
    }

    #[tokio::test]
    async fn a_call_that_ends_keeps_its_connection() {
        let reset = AtomicBool::new(false);
        let replace = async { reset.store(true, Ordering::Relaxed) };
        let result = within("fetching jobs", Duration::from_secs(5), ready(Ok(7)), replace).await;
        assert_eq!(result.unwrap(), 7);
        assert!(!reset.into_inner());
    }
}
