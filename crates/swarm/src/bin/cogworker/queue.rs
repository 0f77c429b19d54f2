//! `cogworker queues` and `cogworker queue NAME …`.

use clap::{Args, ValueEnum};
use cogworker_client::{Client, Process, Queue, QueueInfo};
use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use crate::confirm::confirm;
use crate::exit::{Failure, Outcome, While};
use crate::job_line::{JobCells, JobRecord};
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{Column, Table};
use crate::text;

/// So many jobs are read at a time.
const PAGE: u64 = 200;
/// So many are listed, unless more are asked for.
const LISTED: u64 = 50;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The queue; one whose name begins with a dash goes last, after `--`
    name: String,
    /// What to do
    // A value and no command of its own: a queue may be called `list`.
    action: Action,
    /// Of a list, show at most so many; 0 for all [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Of a list, leave out so many of the first
    #[arg(long, value_name = "N")]
    skip: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Let no job be taken from it, until it is resumed
    Pause,
    /// Let jobs be taken from it again
    Resume,
    /// Delete every job that waits on it
    Clear,
    /// Show the jobs that wait on it, the next one first
    List,
    /// Delete every job that waits on it, and forget the queue and its pause
    Delete,
}

impl Options {
    /// Checks what needs no Redis.
    pub(crate) fn check(&self) -> Outcome {
        if self.action != Action::List && (self.limit.is_some() || self.skip.is_some()) {
            return Err(Failure::Usage("--limit and --skip are for a list".to_owned()));
        }
        Ok(())
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct QueueRecord<'a> {
    queue: &'a str,
    /// `None` for a key of the wrong type.
    size: Option<u64>,
    latency: f64,
    paused: bool,
    /// How many live processes read it.
    processes: usize,
}

#[derive(Debug, Serialize)]
struct Changed<'a> {
    queue: &'a str,
    done: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<u64>,
}

pub(crate) async fn list_all(client: &Client, output: &mut Output) -> Outcome {
    let queues = client.queues().await.doing("list the queues")?;
    let processes = client.processes().await.doing("list the processes")?;
    if output.json {
        for queue in &queues {
            output.record(&QueueRecord {
                queue: &queue.name,
                size: queue.size,
                latency: queue.latency.as_secs_f64(),
                paused: queue.paused,
                processes: readers(&processes, &queue.name),
            })?;
        }
        return Ok(());
    }
    if queues.is_empty() {
        return Ok(output.line("no queues yet")?);
    }
    Ok(output.table(&table(&queues, &processes))?)
}

/// The queues, for people.
pub(crate) fn table(queues: &[QueueInfo], processes: &[Process]) -> Table {
    let mut table = Table::new([
        Column::Long("QUEUE"),
        Column::Number("SIZE"),
        Column::Number("LATENCY"),
        Column::Number("PROCESSES"),
        Column::Text("STATE"),
    ]);
    for queue in queues {
        let state = match (queue.size, queue.paused) {
            (None, _) => "wrong type",
            (_, true) => "paused",
            _ => "",
        };
        table.row([
            queue.name.clone(),
            queue.size.map_or("?".to_owned(), text::number),
            text::duration(queue.latency),
            text::number(readers(processes, &queue.name) as u64),
            state.to_owned(),
        ]);
    }
    table
}

pub(crate) fn readers(processes: &[Process], queue: &str) -> usize {
    processes.iter().filter(|process| process.info.queues.iter().any(|name| name == queue)).count()
}

pub(crate) async fn run(client: &Client, options: &Options, yes: bool, output: &mut Output) -> Outcome {
    let queue = client.queue(&options.name);
    let name = format!("{:?}", options.name);
    let mut is_known = queue.exists().await.doing(format!("look for the queue {name}"))?;
    if !is_known && matches!(options.action, Action::Resume) {
        // The pause of a queue that is gone can be ended.
        is_known = queue.info().await.doing(format!("read the queue {name}"))?.paused;
    }
    if !is_known {
        return Err(Failure::Failed(format!("no such queue: {name}{}", others(client).await)));
    }
    let (done, deleted) = match options.action {
        Action::List => {
            let (skip, limit) = (options.skip.unwrap_or(0), options.limit.unwrap_or(LISTED));
            return list(&queue, skip, limit, output).await;
        }
        Action::Pause => {
            queue.pause().await.doing(format!("pause the queue {name}"))?;
            ("paused", None)
        }
        Action::Resume => {
            queue.resume().await.doing(format!("resume the queue {name}"))?;
            ("resumed", None)
        }
        Action::Clear => ("cleared", Some(clear(&queue, &name, "delete", yes).await?)),
        Action::Delete => {
            let deleted = clear(&queue, &name, "delete the queue and", yes).await?;
            if !queue.unlist().await.doing(format!("forget the queue {name}"))? {
                let deleted = text::jobs(deleted);
                let text =
                    format!("{deleted} deleted, but jobs come onto the queue {name} meanwhile: it is kept");
                return Err(Failure::Failed(text));
            }
            ("deleted", Some(deleted))
        }
    };
    if output.json {
        output.record(&Changed { queue: &options.name, done, deleted })?;
    } else {
        let jobs = deleted.map(|jobs| format!(", {} deleted", text::jobs(jobs))).unwrap_or_default();
        output.line(&format!("queue {}: {done}{jobs}", options.name))?;
    }
    if matches!(options.action, Action::Delete) {
        let processes = client.processes().await.doing("list the processes")?;
        let readers = readers(&processes, &options.name);
        if readers > 0 {
            let processes = text::count(readers as u64, "process reads", "processes read");
            eprintln!("{processes} it still, and will list it again");
        }
    }
    Ok(())
}

/// The names there are, for whoever misspelt one.
async fn others(client: &Client) -> String {
    match client.queues().await {
        Ok(queues) if !queues.is_empty() => {
            let names: Vec<String> =
                queues.iter().take(10).map(|queue| format!("{:?}", queue.name)).collect();
            let more = if queues.len() > names.len() { ", …" } else { "" };
            format!("; there are {}{more}", names.join(", "))
        }
        _ => String::new(),
    }
}

/// Deletes what waits now; how many jobs that were.
async fn clear(queue: &Queue, name: &str, doing: &str, yes: bool) -> Result<u64, Failure> {
    let info = queue.info().await.doing(format!("read the queue {name}"))?;
    let Some(total) = info.size else {
        return Err(Failure::Failed(format!(
            "the queue {name} is stored as something that is no list: nothing was done; a worker moves it away within a \
             minute, see cogworker doctor"
        )));
    };
    if total > 0 || doing != "delete" {
        confirm(&format!("{doing} {} from the queue {name}", text::jobs(total)), yes)?;
    }
    let mut progress = Progress::new(format!("delete the jobs of the queue {name}"));
    let (mut found, mut deleted) = (0, 0);
    while found < total {
        let slice = progress.step(queue.clear_slice(total - found)).await?;
        if slice.found == 0 {
            break;
        }
        found += slice.found;
        deleted += slice.deleted;
        progress.reached = format!("{} of {} deleted", text::number(deleted), text::jobs(total));
    }
    Ok(deleted)
}

async fn list(queue: &Queue, skip: u64, limit: u64, output: &mut Output) -> Outcome {
    let now = EpochSeconds::now();
    let mut table = Table::new([
        Column::Text("ENQUEUED (UTC)"),
        Column::Text("JID"),
        Column::Long("CLASS"),
        Column::Long("ARGS"),
    ]);
    let limit = if limit == 0 { u64::MAX } else { limit };
    let (mut shown, mut total) = (0, 0);
    while shown < limit {
        let count = (limit - shown).min(PAGE);
        let skipped = skip.saturating_add(shown).min(1 << 40);
        let page = queue.page(skipped, count).await.doing(format!("read the queue {:?}", queue.name()))?;
        total = page.total;
        for raw in &page.entries {
            if output.json {
                output.record(&JobRecord::new("queue", None, raw))?;
            } else {
                let cells = JobCells::new(raw);
                let when = cells.enqueued_at.map(|at| text::when(at, now)).unwrap_or_default();
                table.row([when, cells.jid, cells.class, cells.args]);
            }
        }
        let read = page.entries.len() as u64;
        shown += read;
        if read < count {
            break;
        }
    }
    if output.json {
        return Ok(());
    }
    if shown == 0 {
        return Ok(output.line("no jobs")?);
    }
    output.table(&table)?;
    let more = total.saturating_sub(skip).saturating_sub(shown);
    if more > 0 {
        output.line(&format!("… and {} more", text::number(more)))?;
    }
    Ok(())
}
