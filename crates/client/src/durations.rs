//! How long runs took.

use std::collections::BTreeMap;

use bytes::Bytes;
use cogworker_core::formats::Durations;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;

use crate::Client;

impl Client {
    /// How long the runs of each class took, ever, as workers with a history count them: for metrics.
    /// None where the key holds something else.
    ///
    /// ```no_run
    /// # use cogworker_client::Client;
    /// # async fn example(client: &Client) -> Result<(), cogworker_core::redis::RedisError> {
    /// for (class, durations) in client.run_durations().await? {
    ///     println!("{class}: {} runs, {:.1} s in all", durations.total(), durations.sum.as_secs_f64());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn run_durations(&self) -> Result<BTreeMap<String, Durations>, RedisError> {
        let key = self.redis().keys().durations();
        let hashes = scripts::list_hashes(self.redis(), vec![key]).await?;
        let text = |value: Bytes| String::from_utf8_lossy(&value).into_owned();
        let fields = hashes.into_iter().flatten().map(|(field, value)| (field, text(value)));
        Ok(Durations::read(fields))
    }
}
