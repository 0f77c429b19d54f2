//! Jobs, and an application that notes what it runs.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cogworker_client::ClientError;
use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use cogworker_server::{App, Context, JobError};
use serde::{Deserialize, Serialize};

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Greeting(pub(crate) String);

impl Job for Greeting {
    const CLASS: &'static str = "GreetingJob";

    fn options() -> JobOptions {
        JobOptions::new().queue("low").retry(2).set("tags", ["polite"])
    }
}

pub(crate) fn greeting(name: &str) -> Greeting {
    Greeting(name.into())
}

/// Greets each of these.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Party {
    pub(crate) guests: Vec<String>,
}

impl Job for Party {
    const CLASS: &'static str = "PartyJob";
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report(pub(crate) u32);

impl Job for Report {
    const CLASS: &'static str = "ReportJob";

    fn options() -> JobOptions {
        JobOptions::new().unique().retry(1)
    }
}

/// What was run, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Fails for whoever is called "nobody".
async fn greet(Greeting(name): Greeting, ctx: Context<Log>) -> Result<(), JobError> {
    ctx.state().add(format!("{name} {}", ctx.attempt()));
    if name == "nobody" { Err(JobError::new("NoName", "nobody to greet")) } else { Ok(()) }
}

async fn host(party: Party, ctx: Context<Log>) -> Result<(), ClientError> {
    ctx.state().add("party");
    for guest in &party.guests {
        ctx.client().perform_async(&greeting(guest)).await?;
    }
    Ok(())
}

fn report(Report(number): Report, ctx: Context<Log>) -> Result<(), JobError> {
    ctx.state().add(format!("report {number}"));
    if number == 0 { Err(JobError::new("Empty", "no number")) } else { Ok(()) }
}

pub(crate) fn app(log: &Log) -> App<Log> {
    App::new(log.clone()).job(greet).job(host).job_blocking(report)
}
