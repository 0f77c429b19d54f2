//! Something done in many steps, that may be cut off between any two.

use std::pin::Pin;

use crate::exit::Failure;

/// How far it got.
pub(crate) struct Progress {
    /// Such as `delete jobs from dead`.
    doing: String,
    /// Such as `1,200 of 5,000 jobs deleted`.
    pub(crate) reached: String,
    interrupt: Pin<Box<dyn Future<Output = std::io::Result<()>>>>,
}

impl Progress {
    pub(crate) fn new(doing: impl Into<String>) -> Self {
        let interrupt = Box::pin(tokio::signal::ctrl_c());
        Self { doing: doing.into(), reached: "nothing done yet".to_owned(), interrupt }
    }

    /// Takes a step. When it fails, or Ctrl-C comes before it is done, the failure says how far it got.
    pub(crate) async fn step<T>(
        &mut self,
        step: impl Future<Output = Result<T, cogworker_core::redis::RedisError>>,
    ) -> Result<T, Failure> {
        let (doing, reached) = (&self.doing, &self.reached);
        tokio::select! {
            result = step => result.map_err(|source| Failure::Redis(format!("{doing} ({reached} before that)"), source)),
            _ = &mut self.interrupt => {
                Err(Failure::Failed(format!("interrupted: {doing}: {reached}, and perhaps the next few")))
            }
        }
    }
}
