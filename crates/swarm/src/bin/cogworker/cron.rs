//! `cogworker cron …`: the periodic jobs.

use clap::{Args, Subcommand};
use cogworker_client::{Client, PeriodicJob, PublishedJobs};
use cogworker_core::cron::Cron;
use cogworker_core::time::EpochSeconds;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::exit::{Failure, Outcome, While};
use crate::output::Output;
use crate::table::{Column, Table};
use crate::text;

/// An id is shown, and may be given, by so many of its first characters, where these are enough.
const SHORT: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the entries that workers have published
    List,
    /// Push an entry's job now, besides its times
    Run(Which),
    /// Let an entry be due again
    Enable(Which),
    /// Let an entry be due no more, until it is enabled
    Disable(Which),
}

#[derive(Debug, Args)]
struct Which {
    /// The entry: its id, the beginning of it, or its class if no other entry has that
    #[arg(value_name = "PJID|CLASS")]
    entry: String,
}

#[derive(Debug, Serialize)]
struct EntryRecord<'a> {
    pjid: &'a str,
    cron: &'a str,
    class: &'a str,
    args: Option<&'a RawValue>,
    retry: Option<&'a RawValue>,
    until_executed: bool,
    disabled: bool,
    next: Option<i64>,
    last: Option<i64>,
    running: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Done<'a> {
    pjid: &'a str,
    done: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    jid: Option<&'a str>,
}

pub(crate) async fn run(client: &Client, options: &Options, output: &mut Output) -> Outcome {
    let published = client.periodic().list().await.doing("list the periodic jobs")?;
    let which = match &options.action {
        Action::List => return list(&published, output),
        Action::Run(which) | Action::Enable(which) | Action::Disable(which) => which,
    };
    let pjid = find(&published, &which.entry)?;
    let (done, jid) = match options.action {
        Action::Run(_) => {
            let jid = client.periodic().run_now(pjid).await.doing(format!("run the entry {pjid}"))?;
            let Some(jid) = jid else { return Err(unknown(&which.entry)) };
            ("pushed", Some(jid))
        }
        Action::Enable(_) => {
            client.periodic().enable(pjid).await.doing(format!("enable the entry {pjid}"))?;
            ("enabled", None)
        }
        _ => {
            client.periodic().disable(pjid).await.doing(format!("disable the entry {pjid}"))?;
            ("disabled", None)
        }
    };
    if output.json {
        return Ok(output.record(&Done { pjid, done, jid: jid.as_ref().map(|jid| jid.as_str()) })?);
    }
    let jid = jid.map(|jid| format!(" {jid}")).unwrap_or_default();
    Ok(output.line(&format!("{pjid}: {done}{jid}"))?)
}

fn unknown(entry: &str) -> Failure {
    Failure::Failed(format!("no such periodic entry: {entry}; see cogworker cron list"))
}

/// The id of the entry that is meant.
fn find<'a>(published: &'a PublishedJobs, entry: &str) -> Result<&'a str, Failure> {
    let all = || published.jobs.iter().map(|job| &job.pjid).chain(&published.unreadable);
    if let Some(pjid) = all().find(|pjid| *pjid == entry) {
        return Ok(pjid);
    }
    let of_class = published.jobs.iter().filter(|job| job.class == entry).map(|job| &job.pjid);
    let mut found: Vec<&String> = of_class.collect();
    if found.is_empty() && !entry.is_empty() {
        found = all().filter(|pjid| pjid.starts_with(entry)).collect();
    }
    match *found {
        [pjid] => Ok(pjid),
        [] => Err(unknown(entry)),
        _ => {
            let names: Vec<&str> = found.iter().map(|pjid| pjid.as_str()).collect();
            Err(Failure::Failed(format!("{entry} may be any of {}", names.join(", "))))
        }
    }
}

/// When the entry is due next, as a worker in UTC sees it; `None` for one that is off or cannot be read.
fn next(job: &PeriodicJob, now: EpochSeconds) -> Option<i64> {
    if job.disabled { None } else { Cron::parse(&job.cron).ok()?.next(now) }
}

fn list(published: &PublishedJobs, output: &mut Output) -> Outcome {
    let now = EpochSeconds::now();
    if output.json {
        for job in &published.jobs {
            output.record(&EntryRecord {
                pjid: &job.pjid,
                cron: &job.cron,
                class: &job.class,
                args: serde_json::from_str(&job.args).ok(),
                retry: serde_json::from_str(&job.retry).ok(),
                until_executed: job.until_executed,
                disabled: job.disabled,
                next: next(job, now),
                last: job.last_slot.map(|at| at.as_f64() as i64),
                running: job.running.as_ref().map(|jid| jid.as_str()),
            })?;
        }
        for pjid in &published.unreadable {
            output.record(&serde_json::json!({ "pjid": pjid, "damaged": true }))?;
        }
        return Ok(());
    }
    if published.jobs.is_empty() && published.unreadable.is_empty() {
        return Ok(output.line("no periodic jobs are published")?);
    }
    let mut table = Table::new([
        Column::Text("PJID"),
        Column::Long("CLASS"),
        Column::Text("CRON"),
        Column::Text("NEXT (UTC)"),
        Column::Text("LAST (UTC)"),
        Column::Text("STATE"),
        Column::Long("ARGS"),
    ]);
    let when = |at: Option<EpochSeconds>| at.map(|at| text::when(at, now)).unwrap_or_default();
    let pjids: Vec<&str> = published
        .jobs
        .iter()
        .map(|job| &*job.pjid)
        .chain(published.unreadable.iter().map(|it| &**it))
        .collect();
    for job in &published.jobs {
        let state = match (job.disabled, &job.running) {
            (true, _) => "disabled",
            (_, Some(_)) => "running",
            _ => "",
        };
        table.row([
            short(&job.pjid, &pjids),
            job.class.clone(),
            job.cron.clone(),
            when(next(job, now).map(|at| EpochSeconds::new(at as f64))),
            when(job.last_slot),
            state.to_owned(),
            job.args.clone(),
        ]);
    }
    for pjid in &published.unreadable {
        let mut row = vec![String::new(); 7];
        (row[0], row[1]) = (short(pjid, &pjids), "(damaged)".to_owned());
        table.row(row);
    }
    Ok(output.table(&table)?)
}

/// As much of an id as tells it from the others.
fn short(pjid: &str, all: &[&str]) -> String {
    let head = |length: usize| pjid.char_indices().nth(length).map_or(pjid, |(at, _)| &pjid[..at]);
    let is_enough = |head: &str| all.iter().filter(|other| other.starts_with(head)).count() == 1;
    (SHORT..pjid.len()).map(head).find(|head| is_enough(head)).unwrap_or(pjid).to_owned()
}
