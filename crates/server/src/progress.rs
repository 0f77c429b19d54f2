//! What a running job tells of itself in its status.

use std::time::Duration;

use cogworker_core::formats::Status;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;

use crate::context::Context;

/// Progress is told of at the place that writes it later, should it not be written at once.
pub(crate) const PLACE: &str = "showing running jobs";

/// Why nothing was stored of what a job told of itself.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ProgressError {
    /// The worker itself keeps the field.
    #[error("store a job's progress: the worker itself keeps the field {field:?}, choose another name")]
    Reserved {
        /// The field's name.
        field: String,
    },
}

impl<S> Context<S> {
    /// Reports progress: a percentage and what is going on (STAT-05). Does nothing unless the
    /// application has [`status`](crate::App::status) on.
    ///
    /// Call it as often as you like: Redis is written a few times a second at most, and the last
    /// values in any case. While Redis is away the job goes on, after at most one wait for the command
    /// timeout, and its progress is written once Redis is back, at the latest with the job's end.
    ///
    /// A percentage below 0 counts as 0, one above 100 as 100, and one that is no number (nothing of nothing)
    /// as 0; two decimals are kept.
    pub async fn at(&self, percent: impl Into<f64>, message: &str) {
        if let Some(due) = self.keep(&[("pct", &percentage(percent)), ("message", message)]) {
            self.write(due).await;
        }
    }

    /// Stores fields of the job's own in its status, as [`at`](Self::at) does; `pct` and `message` are those
    /// of `at`.
    ///
    /// # Errors
    /// When a name is one of those that the worker keeps
    /// ([`Status::OWN_FIELDS`]: `status`, `update_time`, `class`, `queue`, `error_class`, `error_message`),
    /// whether statuses are on or not. Nothing is stored then. Redis being away is no error, as for `at`.
    pub async fn store(&self, fields: &[(&str, &str)]) -> Result<(), ProgressError> {
        check(fields)?;
        if let Some(due) = self.keep(fields) {
            self.write(due).await;
        }
        Ok(())
    }

    /// [`at`](Self::at) for [blocking](crate::App::job_blocking) handlers, and for threads that a handler
    /// starts: waits for Redis on this thread.
    ///
    /// ```
    /// # use cogworker_core::job::Job;
    /// use cogworker_server::{App, Context};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Render { pages: u32 }
    /// # impl Job for Render { const CLASS: &'static str = "RenderJob"; }
    ///
    /// fn render(job: Render, ctx: Context) {
    ///     for page in 0..job.pages {
    ///         // ... and render it
    ///         ctx.at_blocking(page * 100 / job.pages, "rendering");
    ///     }
    /// }
    ///
    /// let app = App::new(()).job_blocking(render);
    /// ```
    ///
    /// # Panics
    /// In async code, like tokio's own calls that block: there it would hold up the thread that has to
    /// bring the answer. In a job that is a failure like any other panic.
    pub fn at_blocking(&self, percent: impl Into<f64>, message: &str) {
        let due = self.keep(&[("pct", &percentage(percent)), ("message", message)]);
        self.write_blocking(due);
    }

    /// [`store`](Self::store) for blocking handlers; see [`at_blocking`](Self::at_blocking).
    ///
    /// # Errors
    /// As [`store`](Self::store).
    ///
    /// # Panics
    /// In async code.
    pub fn store_blocking(&self, fields: &[(&str, &str)]) -> Result<(), ProgressError> {
        check(fields)?;
        let due = self.keep(fields);
        self.write_blocking(due);
        Ok(())
    }

    /// Keeps the fields; those to write now, if it is time to.
    fn keep(&self, fields: &[(&str, &str)]) -> Option<Due> {
        let scope = self.run().scope();
        let ttl = scope.status_ttl?;
        if scope.outage.is_ongoing() {
            // A call would hold the job up and fail. The engine writes what is kept, once it can.
            self.run().keep_progress(fields);
            return None;
        }
        self.run().note_progress(fields).map(|fields| Due { ttl, fields })
    }

    fn write_blocking(&self, due: Option<Due>) {
        if let (Some(due), Some(jobs)) = (due, &self.run().scope().jobs) {
            jobs.block_on(self.write(due));
        }
    }

    async fn write(&self, due: Due) {
        let fields: Vec<(&str, &str)> =
            due.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let written = scripts::write_status(self.client().redis(), self.jid(), due.ttl, &fields).await;
        let (run, outage) = (self.run(), &self.run().scope().outage);
        match written {
            Ok(()) => {
                run.progress_refused(false);
                outage.recovered(PLACE);
            }
            Err(failure) if failure.is_outage() || matches!(failure, RedisError::OutOfMemory(_)) => {
                run.doubt_progress();
                outage.report(PLACE, &failure);
            }
            // Such as a key of another type: the next write fares no better, and one line is enough.
            Err(failure) => {
                if !run.progress_refused(true) {
                    outage.report("writing a job's progress", &failure);
                }
            }
        }
    }
}

fn check(fields: &[(&str, &str)]) -> Result<(), ProgressError> {
    match fields.iter().find(|(field, _)| Status::OWN_FIELDS.contains(field)) {
        Some((field, _)) => Err(ProgressError::Reserved { field: (*field).to_owned() }),
        None => Ok(()),
    }
}

/// As it is stored: "42", "33.33".
fn percentage(percent: impl Into<f64>) -> String {
    let percent: f64 = percent.into();
    if percent.is_nan() {
        return "0".to_owned();
    }
    // Adding zero makes a negative zero a zero.
    ((percent.clamp(0.0, 100.0) * 100.0).round() / 100.0 + 0.0).to_string()
}

/// Fields to write.
struct Due {
    ttl: Duration,
    fields: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::percentage;

    #[test]
    fn a_percentage_is_stored_as_short_as_can_be_and_within_its_bounds() {
        let given = [0.0, -0.0, 42.0, 100.0 / 3.0, 99.999, 100.5, -3.0, f64::NAN, f64::INFINITY];
        let stored = given.map(percentage);
        assert_eq!(stored, ["0", "0", "42", "33.33", "100", "100", "0", "0", "100"]);
        assert_eq!(
            (percentage(7_u8), percentage(7_u32), percentage(7)),
            ("7".into(), "7".into(), "7".into())
        );
    }
}
