//! Pushing jobs.

use std::time::Duration;

use cogworker_core::jid::Jid;
use cogworker_core::job::Job;
use cogworker_core::new_job::{NewJob, Prepared};
use cogworker_core::time::EpochSeconds;

use crate::batch::{Batch, Fate, Ready};
use crate::middleware::{MiddlewareError, Next};
use crate::{Client, ClientError, JobFate};

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
    pub async fn perform_at<J: Job>(
        &self,
        when: impl Into<EpochSeconds>,
        job: &J,
    ) -> Result<Option<Jid>, ClientError> {
        self.push(NewJob::of(job).at(when)).await
    }

    /// Pushes a job of any class, known here or not, with any fields (PUSH-08, PUSH-09).
    ///
    /// # Errors
    /// As [`perform_async`](Self::perform_async).
    pub async fn push(&self, job: NewJob) -> Result<Option<Jid>, ClientError> {
        let Some((job, prepared)) = self.pass(job).await? else { return Ok(None) };
        let jid = prepared.jid.clone();
        let ready = self.ready(&job, prepared);
        if self.settings().writes_jobs_alone() && ready.is_plain() {
            self.gatherer().push(self.redis(), ready).await?;
            return Ok(Some(jid));
        }
        let mut batch = Batch::new(self.redis(), self.settings());
        batch.add(ready);
        let pushed = batch.push_out().await.map_err(|stopped| stopped.error)?;
        Ok((pushed == [true]).then_some(jid))
    }

    /// Takes a job through the middlewares, and pushes nothing. What they changed is honoured, so it is
    /// checked again. For workers, which push periodic jobs another way.
    #[doc(hidden)]
    pub async fn pass(&self, mut job: NewJob) -> Result<Option<(NewJob, Prepared)>, ClientError> {
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
    /// is pushed; so a bad one means that nothing was. If Redis fails on the way, the error
    /// ([`ClientError::Bulk`]) says of each job whether it is pushed, perhaps pushed, or not pushed.
    pub async fn push_bulk<J: Job>(&self, jobs: &[J]) -> Result<Vec<Option<Jid>>, ClientError> {
        let mut ready = Vec::with_capacity(jobs.len());
        for job in jobs {
            ready.push(self.made_ready(NewJob::of(job)).await?);
        }
        self.push_ready(ready).await
    }

    /// Like [`push_bulk`](Self::push_bulk), for jobs of any classes.
    ///
    /// # Errors
    /// As [`push_bulk`](Self::push_bulk).
    pub async fn push_all(&self, jobs: Vec<NewJob>) -> Result<Vec<Option<Jid>>, ClientError> {
        let mut ready = Vec::with_capacity(jobs.len());
        for job in jobs {
            ready.push(self.made_ready(job).await?);
        }
        self.push_ready(ready).await
    }

    /// As bytes: a million jobs with all their fields apart would be a gigabyte, and each is freed before
    /// the next is made. `None` for one that a middleware stopped.
    async fn made_ready(&self, job: NewJob) -> Result<Option<Ready>, ClientError> {
        Ok(self.pass(job).await?.map(|(job, prepared)| self.ready(&job, prepared)))
    }

    async fn push_ready(&self, ready: Vec<Option<Ready>>) -> Result<Vec<Option<Jid>>, ClientError> {
        let total = ready.len();
        let places = ready.iter().map(|job| job.as_ref().map(|ready| ready.prepared.jid.clone())).collect();
        let mut bulk = Bulk { results: vec![None; total], batched: Vec::new(), passed: places };
        let mut batch = Batch::new(self.redis(), self.settings());
        for (place, job) in ready.into_iter().enumerate() {
            let Some(job) = job else { continue };
            if batch.is_full_for(&job) {
                bulk.push_out(&mut batch).await?;
            }
            batch.add(job);
            bulk.batched.push(place);
        }
        bulk.push_out(&mut batch).await?;
        Ok(bulk.results)
    }

    /// As it will stand in Redis.
    fn ready(&self, job: &NewJob, prepared: Prepared) -> Ready {
        let payload = job.payload(prepared.at.is_none().then(|| self.settings().now()));
        Ready { payload, is_unique: job.is_unique(), prepared }
    }
}

/// A bulk push on its way.
struct Bulk {
    /// What is done; `None` for all others.
    results: Vec<Option<Jid>>,
    /// The jobs of the batch, by their places in the call.
    batched: Vec<usize>,
    /// The ids of those that no middleware stopped.
    passed: Vec<Option<Jid>>,
}

impl Bulk {
    /// Pushes the batch and notes the ids of what was pushed.
    async fn push_out(&mut self, batch: &mut Batch<'_>) -> Result<(), ClientError> {
        let pushed = batch.push_out().await.map_err(|stopped| match stopped.error {
            ClientError::Redis(source) => ClientError::Bulk { fates: self.fates(&stopped.fates), source },
            error => error,
        })?;
        for (place, pushed) in self.batched.drain(..).zip(pushed) {
            self.results[place] = self.passed[place].clone().filter(|_| pushed);
        }
        Ok(())
    }

    /// Of all jobs of the call, given those of the batch that stopped.
    fn fates(&self, batch: &[Fate]) -> Vec<JobFate> {
        let first = self.batched.first().copied().unwrap_or(self.passed.len());
        let begun = self.results.iter().zip(&self.passed).enumerate().map(|(place, (result, passed))| {
            // A job that a middleware stopped is done wherever it stands.
            let is_done = place < first || passed.is_none();
            if is_done { JobFate::Done(result.clone()) } else { JobFate::NotPushed }
        });
        let mut fates: Vec<JobFate> = begun.collect();
        for (place, fate) in self.batched.iter().zip(batch) {
            let Some(jid) = &self.passed[*place] else { continue };
            fates[*place] = match fate {
                Fate::Pushed => JobFate::Done(Some(jid.clone())),
                Fate::Duplicate => JobFate::Done(None),
                Fate::Unknown => JobFate::Unknown(jid.clone()),
                Fate::NotPushed => JobFate::NotPushed,
            };
        }
        fates
    }
}
