//! What a running job tells of itself in its status.

use std::time::Duration;

use cogworker_core::formats::Status;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;

use crate::context::Context;

/// Why a job could not report its progress; it may well go on.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ProgressError {
    /// The worker itself keeps the field. Nothing was stored.
    #[error("store a job's progress: the worker itself keeps the field {field:?}, choose another name")]
    Reserved {
        /// The field's name.
        field: String,
    },
    /// Redis did not take it. The last values are written again with the job's end.
    #[error(transparent)]
    Redis(#[from] RedisError),
}

impl<S> Context<S> {
    /// Reports progress: a percentage and what is going on (STAT-05). Does nothing unless the
    /// application has [`status`](crate::App::status) on.
    ///
    /// Call it as often as you like: Redis is written a few times a second at most, and the last
    /// values in any case.
    ///
    /// # Errors
    /// When Redis does not take it; a handler may well go on.
    pub async fn at(&self, percent: u8, message: &str) -> Result<(), ProgressError> {
        let percent = percent.to_string();
        self.store(&[("pct", &percent), ("message", message)]).await
    }

    /// Stores fields of the job's own in its status, as [`at`](Self::at) does; `pct` and `message` are those
    /// of `at`.
    ///
    /// # Errors
    /// When a name is one of those that the worker keeps
    /// ([`Status::OWN_FIELDS`]: `status`, `update_time`, `class`, `queue`, `error_class`, `error_message`),
    /// whether statuses are on or not; or when Redis does not take them.
    pub async fn store(&self, fields: &[(&str, &str)]) -> Result<(), ProgressError> {
        match self.due(fields)? {
            Some(due) => self.write(due).await,
            None => Ok(()),
        }
    }

    /// [`at`](Self::at) for [blocking](crate::App::job_blocking) handlers, and for threads that a handler
    /// starts: waits for Redis on this thread.
    ///
    /// ```
    /// # use cogworker_core::job::Job;
    /// use cogworker_server::{App, Context, ProgressError};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Render(u8);
    /// # impl Job for Render { const CLASS: &'static str = "RenderJob"; }
    ///
    /// fn render(job: Render, ctx: Context) -> Result<(), ProgressError> {
    ///     for page in 0..job.0 {
    ///         // ... and render it
    ///         ctx.at_blocking(page * 100 / job.0, "rendering")?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let app = App::new(()).job_blocking(render);
    /// ```
    ///
    /// # Errors
    /// As [`at`](Self::at).
    ///
    /// # Panics
    /// In async code, like tokio's own calls that block: there it would hold up the thread that has to
    /// bring the answer. In a job that is a failure like any other panic.
    pub fn at_blocking(&self, percent: u8, message: &str) -> Result<(), ProgressError> {
        let percent = percent.to_string();
        self.store_blocking(&[("pct", &percent), ("message", message)])
    }

    /// [`store`](Self::store) for blocking handlers; see [`at_blocking`](Self::at_blocking).
    ///
    /// # Errors
    /// As [`store`](Self::store).
    ///
    /// # Panics
    /// In async code.
    pub fn store_blocking(&self, fields: &[(&str, &str)]) -> Result<(), ProgressError> {
        match (self.due(fields)?, &self.run().scope().jobs) {
            (Some(due), Some(jobs)) => jobs.block_on(self.write(due)),
            _ => Ok(()),
        }
    }

    /// Keeps the fields; those to write now, if it is time to.
    fn due(&self, fields: &[(&str, &str)]) -> Result<Option<Due>, ProgressError> {
        if let Some((field, _)) = fields.iter().find(|(field, _)| Status::OWN_FIELDS.contains(field)) {
            return Err(ProgressError::Reserved { field: (*field).to_owned() });
        }
        let Some(ttl) = self.run().scope().status_ttl else { return Ok(None) };
        Ok(self.run().note_progress(fields).map(|fields| Due { ttl, fields }))
    }

    async fn write(&self, due: Due) -> Result<(), ProgressError> {
        let fields: Vec<(&str, &str)> =
            due.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Ok(scripts::write_status(self.client().redis(), self.jid(), due.ttl, &fields).await?)
    }
}

/// Fields to write.
struct Due {
    ttl: Duration,
    fields: Vec<(String, String)>,
}
