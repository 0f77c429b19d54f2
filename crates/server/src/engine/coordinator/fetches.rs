//! The fetches under way. While Redis works on one, the next is on its way: else a worker with
//! quick jobs and Redis would wait for each other by turns.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use cogworker_core::redis::RedisError;
use cogworker_core::scripts::{Fetched, Held};

type Reply = Result<Fetched, RedisError>;
type Call = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// What a fetch asks for.
#[derive(Debug)]
pub(super) struct Fetch {
    /// The queues in the order in which they are looked at, by index.
    pub(super) order: Vec<usize>,
    pub(super) asked: usize,
    pub(super) begun: Instant,
    /// How it takes its jobs.
    pub(super) held: Held,
}

/// In the order in which they were sent.
#[derive(Default)]
pub(super) struct Fetches(Vec<(Fetch, Call)>);

impl Fetches {
    pub(super) fn add(&mut self, fetch: Fetch, call: impl Future<Output = Reply> + Send + 'static) {
        self.0.push((fetch, Box::pin(call)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// How many jobs they may bring.
    pub(super) fn asked(&self) -> usize {
        self.0.iter().map(|(fetch, _)| fetch.asked).sum()
    }

    /// The first that ends; never, while there is none. Each is sent when it is first waited for.
    pub(super) async fn next(&mut self) -> (Fetch, Reply) {
        poll_fn(|cx| {
            for index in 0..self.0.len() {
                if let Poll::Ready(reply) = self.0[index].1.as_mut().poll(cx) {
                    let (fetch, _) = self.0.remove(index);
                    return Poll::Ready((fetch, reply));
                }
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(asked: usize) -> Fetch {
        Fetch { order: vec![0], asked, begun: Instant::now(), held: Held::Listed }
    }

    #[tokio::test]
    async fn each_is_waited_for_and_ends_by_itself() {
        let mut fetches = Fetches::default();
        let lost = || RedisError::Disconnected("gone".into());
        fetches.add(fetch(1), std::future::pending());
        fetches.add(fetch(2), async move { Err(lost()) });
        assert_eq!((fetches.count(), fetches.asked()), (2, 3));
        let (ended, reply) = fetches.next().await;
        assert_eq!((ended.asked, fetches.count(), fetches.asked()), (2, 1, 1));
        assert!(reply.is_err());
        let waited = tokio::time::timeout(std::time::Duration::from_millis(10), fetches.next()).await;
        assert!(waited.is_err() && !fetches.is_empty());
    }
}
