//! Periodic entries: what is published, switched off and on, run now.

use std::collections::BTreeSet;

use cogworker_core::formats::PeriodicEntry;
use cogworker_core::jid::Jid;
use cogworker_core::keys::KeyType;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis::{Call, RedisError};
use cogworker_core::scripts::{self, EntryState};
use cogworker_core::time::EpochSeconds;

use crate::{Client, ClientError};

/// So many entries are read in one step.
const SLICE: usize = 200;

/// The periodic entries that workers have published.
///
/// ```no_run
/// # use cogworker_client::Client;
/// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let periodic = client.periodic();
/// for job in periodic.list().await?.jobs {
///     println!("{} {} {} {:?}", job.pjid, job.cron, job.class, job.last_slot);
///     if job.class == "ReportJob" {
///         periodic.disable(&job.pjid).await?; // until it is enabled again
///         let jid = periodic.run_now(&job.pjid).await?; // all the same, once
///         println!("{jid:?}");
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct PeriodicEntries {
    client: Client,
}

/// A published entry and how it stands (PENT-04).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeriodicJob {
    /// Its id, made of its cron, class and args (PENT-01).
    pub pjid: String,
    /// When it is due, as it was written.
    pub cron: String,
    /// The class of its jobs.
    pub class: String,
    /// Their `retry`, as JSON.
    pub retry: String,
    /// True when no run begins before the last one has ended.
    pub until_executed: bool,
    /// Their args, as JSON.
    pub args: String,
    /// The newest slot that was fired or skipped, to the second; `None` before the first.
    pub last_slot: Option<EpochSeconds>,
    /// True when it is switched off.
    pub disabled: bool,
    /// The job that holds an `until_executed` entry: it waits, runs, or is to be tried again.
    pub running: Option<Jid>,
}

/// What is published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedJobs {
    /// The entries, by class, cron and id.
    pub jobs: Vec<PeriodicJob>,
    /// The ids of entries whose definition cannot be read.
    pub unreadable: Vec<String>,
}

impl PeriodicEntries {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Every published entry, whoever fires it. Read in slices, each in one moment.
    ///
    /// # Errors
    /// When Redis cannot be read, or the schedule is something else.
    pub async fn list(&self) -> Result<PublishedJobs, RedisError> {
        let pjids: Vec<String> = self.pjids().await?.into_iter().collect();
        let mut published = PublishedJobs::default();
        for slice in pjids.chunks(SLICE) {
            let states = scripts::list_periodic(self.client.redis(), slice).await?;
            for (pjid, state) in slice.iter().zip(states) {
                published.add(pjid, state);
            }
        }
        published.jobs.sort_by(|a, b| (&a.class, &a.cron, &a.pjid).cmp(&(&b.class, &b.cron, &b.pjid)));
        Ok(published)
    }

    /// Whether an entry is published under this id, readable or not.
    ///
    /// # Errors
    /// When Redis cannot be read.
    pub async fn is_published(&self, pjid: &str) -> Result<bool, RedisError> {
        let states = scripts::list_periodic(self.client.redis(), &[pjid.to_owned()]).await?;
        Ok(states.iter().any(|state| !state.published.is_empty()))
    }

    /// In order, each once: a walk may come across one twice.
    async fn pjids(&self) -> Result<BTreeSet<String>, RedisError> {
        let redis = self.client.redis();
        let (mut pjids, mut cursor) = (BTreeSet::new(), Some(0));
        while let Some(from) = cursor {
            let key = redis.keys().periodic_schedule();
            let step = scripts::scan_members(redis, key, KeyType::Hash, from, SLICE as u64).await?;
            pjids.extend(step.found);
            cursor = step.next;
        }
        Ok(pjids)
    }

    /// Lets an entry fire again (WEBS-07): the newest slot that no process has seen while it was off, and
    /// those that follow.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn enable(&self, pjid: &str) -> Result<(), RedisError> {
        self.switch("SREM", pjid).await
    }

    /// Lets an entry fire no more, in any process, until it is enabled (TICK-16, WEBS-07). Jobs of it that
    /// wait or run stay as they are.
    ///
    /// # Errors
    /// When Redis does not take it.
    pub async fn disable(&self, pjid: &str) -> Result<(), RedisError> {
        self.switch("SADD", pjid).await
    }

    async fn switch(&self, command: &'static str, pjid: &str) -> Result<(), RedisError> {
        let redis = self.client.redis();
        let call = Call::new().key(redis.keys().periodic_disabled()).arg(pjid);
        redis.command(command, call).await.map(|_| ())
    }

    /// Pushes one ordinary job with the entry's class, args and retries onto the queue `default`, through
    /// this client's middleware (WEBS-06). It knows nothing of the entry: it takes no slot, is run though
    /// the entry is switched off, and neither heeds nor takes the running lock. `None` when there is no such
    /// entry, or a middleware stopped the job.
    ///
    /// # Errors
    /// When the entry cannot be read, and as [`perform_async`](Client::perform_async).
    pub async fn run_now(&self, pjid: &str) -> Result<Option<Jid>, ClientError> {
        self.push_now(pjid, None).await
    }

    /// [`run_now`](Self::run_now), onto another queue: an entry does not say which one its class names.
    ///
    /// # Errors
    /// As [`run_now`](Self::run_now).
    pub async fn run_now_on(&self, pjid: &str, queue: &str) -> Result<Option<Jid>, ClientError> {
        self.push_now(pjid, Some(queue)).await
    }

    async fn push_now(&self, pjid: &str, queue: Option<&str>) -> Result<Option<Jid>, ClientError> {
        let redis = self.client.redis();
        let call = Call::new().key(redis.keys().periodic_schedule()).arg(pjid);
        // An entry that vanishes before the push was there when it was asked for: nothing is decided by
        // what Redis holds later, so that this need not be one step.
        let reply = redis.command("HGET", call).await?;
        let Some(stored) = reply.optional_text()? else { return Ok(None) };
        let Some(entry) = PeriodicEntry::parse(stored.as_bytes()) else {
            return Err(ClientError::UnreadableEntry { pjid: pjid.to_owned() });
        };
        let mut job = NewJob::new(&entry.class);
        if let Some(queue) = queue {
            job = job.queue(queue);
        }
        job.set_raw("args", entry.args);
        if entry.retry.get() != "null" {
            job.set_raw("retry", entry.retry);
        }
        self.client.push(job).await
    }
}

impl PublishedJobs {
    fn add(&mut self, pjid: &str, state: EntryState) {
        // It was unpublished since its id was read.
        if state.published.is_empty() {
            return;
        }
        let Some(entry) = PeriodicEntry::parse(&state.published) else {
            return self.unreadable.push(pjid.to_owned());
        };
        self.jobs.push(PeriodicJob {
            pjid: pjid.to_owned(),
            until_executed: entry.is_until_executed(),
            retry: entry.retry.get().to_owned(),
            args: entry.args.get().to_owned(),
            cron: entry.cron,
            class: entry.class,
            last_slot: state.last_slot.map(|slot| EpochSeconds::new(slot as f64)),
            disabled: state.disabled,
            running: state.running.map(Jid::from),
        });
    }
}
