//! `cogworker jobs (schedule|retry|dead) …`.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, Subcommand};
use cogworker_client::{Client, Entry, EntryFilter, JobSet, Requeued};
use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use crate::confirm::confirm;
use crate::exit::{Failure, Outcome, While};
use crate::job_line::{JobCells, JobRecord};
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{Column, Table};
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    which: Which,
}

/// Commands and not values, as one of the actions is called `retry` too.
#[derive(Debug, Subcommand)]
enum Which {
    /// Those that are due later
    Schedule(What),
    /// Those that failed and will be tried again
    Retry(What),
    /// Those that failed for good
    Dead(What),
}

#[derive(Debug, Args)]
struct What {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Schedule,
    Retry,
    Dead,
}

impl Set {
    fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Retry => "retry",
            Self::Dead => "dead",
        }
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show them: the next due first, of the dead the newest
    List {
        #[command(flatten)]
        filter: Filter,
        /// Show at most so many; 0 for all
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Put jobs on their queues now
    Retry {
        /// The jobs' ids
        #[arg(required = true, value_name = "JID")]
        jids: Vec<String>,
    },
    /// Delete jobs
    Delete {
        /// The jobs' ids
        #[arg(required = true, value_name = "JID")]
        jids: Vec<String>,
    },
    /// Put all, or those that are meant, on their queues now
    RetryAll {
        #[command(flatten)]
        filter: Filter,
    },
    /// Delete all, or those that are meant
    DeleteAll {
        #[command(flatten)]
        filter: Filter,
    },
}

#[derive(Debug, Args)]
struct Filter {
    /// Only jobs of this class
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Only jobs whose last error, as `Class: message`, has this part, in whatever case
    #[arg(long, value_name = "PART")]
    error: Option<String>,
    /// Only jobs that died, first failed or were scheduled longer ago: 90s, 5m, 1h 30m, 2days
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    older_than: Option<Duration>,
    /// Only entries that are no jobs, which nobody can run
    #[arg(long)]
    damaged: bool,
}

impl Filter {
    fn is_all(&self) -> bool {
        self.class.is_none() && self.error.is_none() && self.older_than.is_none() && !self.damaged
    }

    fn filter(&self) -> EntryFilter {
        let mut filter = EntryFilter::new();
        if let Some(class) = &self.class {
            filter = filter.class(class);
        }
        if let Some(error) = &self.error {
            filter = filter.error(error);
        }
        if let Some(age) = self.older_than {
            filter = filter.older_than(age);
        }
        if self.damaged { filter.damaged() } else { filter }
    }

    /// Which of the jobs are meant, to say it in a question.
    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if let Some(class) = &self.class {
            parts.push(format!("of class {class}"));
        }
        if let Some(error) = &self.error {
            parts.push(format!("with {error:?} in their error"));
        }
        if let Some(age) = self.older_than {
            parts.push(format!("older than {}", humantime::format_duration(age)));
        }
        if self.damaged {
            parts.push("that are damaged".to_owned());
        }
        if parts.is_empty() { String::new() } else { format!(" {}", parts.join(", ")) }
    }
}

/// What was done with one job.
#[derive(Debug, Serialize)]
struct Done<'a> {
    jid: &'a str,
    #[serde(rename = "in")]
    set: &'static str,
    done: &'static str,
}

/// What was done with many.
#[derive(Debug, Serialize)]
struct DoneAll {
    #[serde(rename = "in")]
    set: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requeued: Option<u64>,
    /// How many could not be put on a queue, and stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
}

pub(crate) async fn run(client: &Client, options: &Options, yes: bool, output: &mut Output) -> Outcome {
    let (set, jobs, what) = match &options.which {
        Which::Schedule(what) => (Set::Schedule, client.schedule(), what),
        Which::Retry(what) => (Set::Retry, client.retries(), what),
        Which::Dead(what) => (Set::Dead, client.dead(), what),
    };
    match &what.action {
        Action::List { filter, limit } => list(&jobs, set, filter, *limit, output).await,
        Action::Retry { jids } => retry(&jobs, set, jids, output).await,
        Action::Delete { jids } => delete(&jobs, set, jids, yes, output).await,
        Action::RetryAll { filter } => retry_all(&jobs, set, filter, yes, output).await,
        Action::DeleteAll { filter } => delete_all(&jobs, set, filter, yes, output).await,
    }
}

async fn list(jobs: &JobSet, set: Set, filter: &Filter, limit: usize, output: &mut Output) -> Outcome {
    let now = EpochSeconds::now();
    let columns =
        |when| [Column::Text(when), Column::Text("JID"), Column::Long("CLASS"), Column::Text("QUEUE")];
    let mut table = Table::new(match set {
        Set::Schedule => [&columns("DUE (UTC)")[..], &[Column::Long("ARGS")]].concat(),
        Set::Retry => [
            &columns("DUE (UTC)")[..],
            &[Column::Number("FAILED"), Column::Long("ARGS"), Column::Long("ERROR")],
        ]
        .concat(),
        Set::Dead => [&columns("DIED (UTC)")[..], &[Column::Long("ARGS"), Column::Long("ERROR")]].concat(),
    });
    let (entries, more) = select(jobs, set, filter, limit).await?;
    if output.json {
        for entry in &entries {
            output.record(&JobRecord::new(set.name(), Some(entry.score), &entry.raw))?;
        }
        return Ok(());
    }
    for Entry { raw, score, .. } in &entries {
        let cells = JobCells::new(raw);
        let mut row = vec![text::when(*score, now), cells.jid, cells.class, cells.queue];
        match set {
            Set::Schedule => row.push(cells.args),
            Set::Retry => row.extend([cells.tries.to_string(), cells.args, cells.error]),
            Set::Dead => row.extend([cells.args, cells.error]),
        }
        table.row(row);
    }
    if entries.is_empty() {
        return Ok(output.line(&format!("no jobs{} in {}", filter.describe(), set.name()))?);
    }
    output.table(&table)?;
    if more > 0 {
        output.line(&format!("… and {} more", text::number(more)))?;
    }
    Ok(())
}

/// The entries to show, in their order, and how many more there are.
async fn select(
    jobs: &JobSet,
    set: Set,
    filter: &Filter,
    limit: usize,
) -> Result<(Vec<Entry>, u64), Failure> {
    let doing = || format!("read {}", set.name());
    let limit = if limit == 0 { usize::MAX } else { limit };
    if filter.is_all() && limit as u64 <= cogworker_core::scripts::PAGE_LIMIT {
        let page = jobs.page(0, limit as u64).await.doing(doing())?;
        let more = page.total.saturating_sub(page.entries.len() as u64);
        return Ok((page.entries, more));
    }
    // A walk goes by score: of the dead, the newest come last.
    let (mut kept, mut found) = (VecDeque::new(), 0);
    let mut walk = jobs.walk(filter.filter());
    while let Some(entries) = walk.next().await.doing(doing())? {
        for entry in entries {
            found += 1;
            if set == Set::Dead && kept.len() == limit {
                kept.pop_front();
            }
            if kept.len() < limit {
                kept.push_back(entry);
            }
        }
    }
    if set == Set::Dead {
        kept.make_contiguous().reverse();
    }
    let more = found - kept.len() as u64;
    Ok((kept.into(), more))
}

/// The entries of each id. Nothing is done when one of them is not there.
async fn find(jobs: &JobSet, set: Set, jids: &[String]) -> Result<Vec<(String, Bytes)>, Failure> {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for jid in jids {
        let before = found.len();
        let mut walk = jobs.walk(EntryFilter::new().jid(jid));
        while let Some(entries) = walk.next().await.doing(format!("look for {jid} in {}", set.name()))? {
            found.extend(entries.into_iter().map(|entry| (jid.clone(), entry.raw)));
        }
        if found.len() == before {
            unknown.push(jid.as_str());
        }
    }
    if unknown.is_empty() {
        return Ok(found);
    }
    let text = format!("no such job in {}: {}; nothing was done", set.name(), unknown.join(", "));
    Err(Failure::Failed(text))
}

fn tell(output: &mut Output, jid: &str, set: Set, done: &'static str) -> Outcome {
    if output.json {
        output.record(&Done { jid, set: set.name(), done })?;
    } else {
        output.line(&format!("{jid}: {done}"))?;
    }
    Ok(())
}

async fn retry(jobs: &JobSet, set: Set, jids: &[String], output: &mut Output) -> Outcome {
    let mut failed = Vec::new();
    for (jid, raw) in find(jobs, set, jids).await? {
        match jobs.requeue(&raw).await.doing(format!("put {jid} on its queue"))? {
            Requeued::Requeued => tell(output, &jid, set, "requeued")?,
            Requeued::Duplicate => {
                failed.push(format!("{jid} stays in {}: an equal unique job is under way", set.name()))
            }
            Requeued::Invalid => failed.push(format!("{jid} stays in {}: it names no queue", set.name())),
            _ => failed.push(format!("{jid} was taken from {} by somebody else meanwhile", set.name())),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Failed(failed.join("\n"))) }
}

async fn delete(jobs: &JobSet, set: Set, jids: &[String], yes: bool, output: &mut Output) -> Outcome {
    let found = find(jobs, set, jids).await?;
    confirm(&format!("delete {} from {}", text::jobs(found.len() as u64), set.name()), yes)?;
    let mut failed = Vec::new();
    for (jid, raw) in found {
        if jobs.delete(&raw).await.doing(format!("delete {jid}"))? {
            tell(output, &jid, set, "deleted")?;
        } else {
            failed.push(format!("{jid} was taken from {} by somebody else meanwhile", set.name()));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Failed(failed.join("\n"))) }
}

/// Asks, with the number of jobs that are meant; false when there are none.
async fn ask(jobs: &JobSet, set: Set, filter: &Filter, doing: [&str; 2], yes: bool) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    let mut count = 0;
    if filter.is_all() {
        count = jobs.size().await.doing(format!("count {}", set.name()))?;
    } else {
        let mut walk = jobs.walk(filter.filter());
        while let Some(entries) = walk.next().await.doing(format!("count {}", set.name()))? {
            count += entries.len() as u64;
        }
    }
    if count == 0 {
        return Ok(false);
    }
    let [verb, where_from] = doing;
    confirm(&format!("{verb} {}{} {where_from}", text::jobs(count), filter.describe()), yes)?;
    Ok(true)
}

async fn delete_all(jobs: &JobSet, set: Set, filter: &Filter, yes: bool, output: &mut Output) -> Outcome {
    let mut deleted = 0;
    if ask(jobs, set, filter, ["delete", &format!("from {}", set.name())], yes).await? {
        let mut progress = Progress::new(format!("delete jobs from {}", set.name()));
        let mut walk = jobs.walk(filter.filter());
        while let Some(some) = progress.step(walk.delete_next()).await? {
            deleted += some;
            let (looked_at, total) = (text::number(walk.looked_at()), text::jobs(walk.total()));
            progress.reached = format!("{} deleted, {looked_at} of {total} looked at", text::number(deleted));
        }
    }
    if output.json {
        let set = set.name();
        return Ok(output.record(&DoneAll { set, deleted: Some(deleted), requeued: None, left: None })?);
    }
    Ok(output.line(&format!("{} deleted from {}", text::jobs(deleted), set.name()))?)
}

async fn retry_all(jobs: &JobSet, set: Set, filter: &Filter, yes: bool, output: &mut Output) -> Outcome {
    let (mut requeued, mut left, mut error) = (0, 0, None);
    if ask(jobs, set, filter, ["put", &format!("of {} on their queues", set.name())], yes).await? {
        let mut progress = Progress::new(format!("put jobs of {} on their queues", set.name()));
        let mut walk = jobs.walk(filter.filter());
        while let Some(some) = progress.step(walk.requeue_next()).await? {
            requeued += some.requeued;
            left += some.left;
            error = error.or(some.error);
            let (looked_at, total) = (text::number(walk.looked_at()), text::jobs(walk.total()));
            progress.reached =
                format!("{} put back, {looked_at} of {total} looked at", text::number(requeued));
        }
    }
    if output.json {
        let set = set.name();
        output.record(&DoneAll { set, deleted: None, requeued: Some(requeued), left: Some(left) })?;
    } else {
        output.line(&format!("{} of {} put on their queues", text::jobs(requeued), set.name()))?;
    }
    if left == 0 {
        return Ok(());
    }
    let why = error.map(|error| format!(", or refused: failed to {error}")).unwrap_or_default();
    let left = text::count(left, "job stays", "jobs stay");
    Err(Failure::Failed(format!(
        "{left} where they are: damaged, without a queue, equal to a unique job under way{why}"
    )))
}
