//! Filling a server: with payloads, or up to its limit.

use crate::{RespValue, TestRedis, TestRedisError};

/// Payloads in one command.
const BATCH: usize = 1_000;

impl TestRedis {
    /// Pushes payloads to a list, as a client does: from the left, so that a worker, which takes from the right,
    /// gets the first one first. Gives the list's length.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), cogworker_testing::TestRedisError> {
    /// # let redis = cogworker_testing::TestRedis::start()?;
    /// let jobs = (0..100_000).map(|n| format!(r#"{{"class":"GreetingJob","args":[{n}],"jid":"{n:024}"}}"#));
    /// redis.fill("cogworker:queue:low", jobs)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`TestRedis::command`]; [`TestRedisError::Refused`] when Redis answers an error, such as `OOM`.
    pub fn fill(
        &self,
        list: &str,
        payloads: impl IntoIterator<Item = impl Into<Vec<u8>>>,
    ) -> Result<i64, TestRedisError> {
        let mut connection = self.connect()?;
        let mut push = |command: &[Vec<u8>]| match connection.command(command)? {
            RespValue::Int(length) => Ok(length),
            reply => Err(TestRedisError::Refused { command: format!("LPUSH {list}"), reply }),
        };
        let start = || vec![b"LPUSH".to_vec(), list.as_bytes().to_vec()];
        let mut command = start();
        let mut length = None;
        for payload in payloads {
            command.push(payload.into());
            if command.len() == BATCH + 2 {
                length = Some(push(&command)?);
                command = start();
            }
        }
        if command.len() > 2 {
            length = Some(push(&command)?);
        }
        match length {
            Some(length) => Ok(length),
            None => Ok(self.command(&["LLEN", list])?.as_int().unwrap_or(0)),
        }
    }

    /// Makes memory run out: the limit is set below what is in use, so that every write that may need memory
    /// gets `OOM`, whatever is deleted. Reads and deletions work, as they do on any full server.
    ///
    /// # Errors
    /// As [`TestRedis::command`].
    pub fn fill_memory(&self) -> Result<(), TestRedisError> {
        self.limit_memory(1)
    }

    /// Ends [`fill_memory`](Self::fill_memory): the limit is again that of
    /// [`TestRedisOptions::maxmemory`](crate::TestRedisOptions::maxmemory), or none. So it is after a
    /// [`restart`](Self::restart).
    ///
    /// # Errors
    /// As [`TestRedis::command`].
    pub fn relieve_memory(&self) -> Result<(), TestRedisError> {
        self.limit_memory(self.options.maxmemory.unwrap_or(0))
    }

    fn limit_memory(&self, bytes: u64) -> Result<(), TestRedisError> {
        self.order(&["CONFIG", "SET", "maxmemory", &bytes.to_string()])
    }
}
