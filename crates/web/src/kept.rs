//! What is read for all pages together, at most every few seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// The newest of it; whoever asks while it is read waits for that.
pub(crate) struct Kept<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// What was read less than `fresh` ago, or what `read` brings. An error is not kept.
    pub(crate) async fn get<E>(
        &self,
        fresh: Duration,
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<Arc<T>, E> {
        let mut newest = self.0.lock().await;
        if let Some((at, known)) = newest.as_ref()
            && at.elapsed() < fresh
        {
            return Ok(known.clone());
        }
        let known = Arc::new(read.await?);
        *newest = Some((Instant::now(), known.clone()));
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_read_again_when_it_is_old_or_could_not_be_read() {
        let kept = Kept::default();
        let hour = Duration::from_secs(3600);
        assert_eq!(kept.get(hour, async { Err::<u8, _>("away") }).await, Err("away"));
        assert_eq!(kept.get(hour, async { Ok::<_, &str>(1) }).await.as_deref(), Ok(&1));
        assert_eq!(kept.get(hour, async { Ok::<_, &str>(2) }).await.as_deref(), Ok(&1));
        assert_eq!(kept.get(Duration::ZERO, async { Ok::<_, &str>(3) }).await.as_deref(), Ok(&3));
    }
}
