//! Pushing jobs.

use std::time::{Duration, SystemTime};

use cogworker_core::jid::Jid;
use cogworker_core::job::Job;
use cogworker_core::new_job::{NewJob, Prepared};

use crate::batch::Batch;
use crate::middleware::{MiddlewareError, Next};
use crate::{Client, ClientError};

impl Client {
    /// Pushes a job onto its queue. `None` means that it was stopped on its way, by a middleware or as the
    /// duplicate of a unique job, and nothing was pushed.
    ///
    /// # Errors
    /// When the job cannot be written as JSON, or Redis does not take it. After a lost reply
    /// ([`fate_is_unknown`](cogworker_core::redis::RedisError::fate_is_unknown)) the job may have been
    /// pushed all the same.
    pub async fn perform_async<J: Job>(&self, job: &J) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job)).await
    }

    /// Schedules a job to run after `delay`.
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn perform_in<J: Job>(&self, delay: Duration, job: &J) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job).at(self.settings().now().plus(delay))).await
    }

    /// Schedules a job to run at `when`.
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn perform_at<J: Job>(&self, when: SystemTime, job: &J) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job).at(when.into())).await
    }

    /// Pushes a job of any class, known here or not, with any fields (PUSH-08, PUSH-09).
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn push(&self, job: NewJob) -> Result<Option<Jid>, ClientError> {
        let Some((job, prepared)) = self.pass(job).await? else { return Ok(None) };
        let payload = job.payload(prepared.at.is_none().then(|| self.settings().now()));
        let mut batch = Batch::new(self.redis(), self.settings());
        batch.add(&job, &prepared, payload);
        let pushed = batch.push_out().await.map_err(|stopped| stopped.error)?;
        Ok((pushed == [true]).then_some(prepared.jid))
    }

    /// Takes a job through the middlewares. What they changed is honoured, so it is checked again.
    async fn pass(&self, mut job: NewJob) -> Result<Option<(NewJob, Prepared)>, ClientError> {
        let now = self.settings().now();
        #[cfg(feature = "otel")]
        crate::trace_context::put_into(&mut job);
        let prepared = job.prepare(now)?;
        let chain = &self.settings().chain;
        if chain.is_empty() {
            return Ok(Some((job, prepared)));
        }
        let passed = Next::first_of(chain).run(job).await.map_err(MiddlewareError::from)?;
        let Some(mut job) = passed else { return Ok(None) };
        let prepared = job.prepare(now)?;
        Ok(Some((job, prepared)))
    }

    /// Pushes many jobs in few round trips: one for each queue and slice of up to a thousand jobs or
    /// a megabyte, and one for every 500 scheduled or unique ones. The result has one element for each job,
    /// in order. An empty slice pushes nothing.
    ///
    /// # Errors
    /// Every job is checked, and taken through the middlewares one after the other, before the first
    /// is pushed; so a bad one means that nothing was. If Redis fails on the way, the error says how
    /// many had been pushed.
    pub async fn push_bulk<J: Job>(&self, jobs: &[J]) -> Result<Vec<Option<Jid>>, ClientError> {
        self.push_all(jobs.iter().map(NewJob::of).collect()).await
    }

    /// Like [`push_bulk`](Self::push_bulk), for jobs of any classes.
    ///
    /// # Errors
    /// As [`push_bulk`](Self::push_bulk).
    pub async fn push_all(&self, jobs: Vec<NewJob>) -> Result<Vec<Option<Jid>>, ClientError> {
        let total = jobs.len();
        let mut passed = Vec::with_capacity(total);
        for job in jobs {
            passed.push(self.pass(job).await?);
        }
        let now = self.settings().now();
        let mut results = vec![None; total];
        let mut batch = Batch::new(self.redis(), self.settings());
        let mut batched = Vec::new();
        for (place, job) in passed.iter().enumerate() {
            let Some((job, prepared)) = job else { continue };
            let payload = job.payload(prepared.at.is_none().then_some(now));
            if batch.is_full_for(&payload) {
                push_out(&mut batch, &mut batched, &mut results).await?;
            }
            batch.add(job, prepared, payload);
            batched.push((place, &prepared.jid));
        }
        push_out(&mut batch, &mut batched, &mut results).await?;
        Ok(results)
    }
}

/// Pushes a batch whose jobs have their `places` in the call, and notes the ids of what was pushed.
async fn push_out(
    batch: &mut Batch<'_>,
    places: &mut Vec<(usize, &Jid)>,
    results: &mut [Option<Jid>],
) -> Result<(), ClientError> {
    let pushed = batch.push_out().await.map_err(|stopped| match stopped.error {
        ClientError::Redis(source) => ClientError::Bulk {
            done: places.get(stopped.done).map_or(results.len(), |(place, _)| *place),
            total: results.len(),
            source,
        },
        error => error,
    })?;
    for ((place, jid), pushed) in places.drain(..).zip(pushed) {
        results[place] = pushed.then(|| jid.clone());
    }
    Ok(())
}
