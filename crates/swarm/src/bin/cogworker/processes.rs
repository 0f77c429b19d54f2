//! `cogworker processes`, `quiet`, `resume` and `stop`.

use clap::Args;
use cogworker_client::{Client, Control, Process};
use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use crate::confirm::confirm;
use crate::exit::{Failure, Outcome, While};
use crate::output::Output;
use crate::table::{Column, Table};
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct Who {
    /// The process: its identity, the beginning of it, its process id, or `all`
    #[arg(value_name = "IDENTITY|all")]
    who: String,
}

#[derive(Debug, Serialize)]
struct ProcessRecord<'a> {
    identity: &'a str,
    hostname: &'a str,
    pid: u32,
    concurrency: usize,
    busy: u64,
    quiet: bool,
    /// Repeats are weights.
    queues: &'a [String],
    started_at: EpochSeconds,
    rss_kb: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Told<'a> {
    identity: &'a str,
    told: &'static str,
    heard: bool,
}

pub(crate) async fn list(client: &Client, output: &mut Output) -> Outcome {
    let processes = client.processes().await.doing("list the processes")?;
    if output.json {
        for process in &processes {
            let info = &process.info;
            output.record(&ProcessRecord {
                identity: &process.identity,
                hostname: &info.hostname,
                pid: info.pid,
                concurrency: info.concurrency,
                busy: process.busy,
                quiet: process.quiet,
                queues: &info.queues,
                started_at: info.started_at,
                rss_kb: info.rss_kb,
            })?;
        }
        return Ok(());
    }
    if processes.is_empty() {
        return Ok(output.line("no process is running")?);
    }
    Ok(output.table(&table(&processes, EpochSeconds::now()))?)
}

/// The processes, for people.
pub(crate) fn table(processes: &[Process], now: EpochSeconds) -> Table {
    let mut table = Table::new([
        Column::Text("IDENTITY"),
        Column::Number("BUSY"),
        Column::Number("SLOTS"),
        Column::Text("STATE"),
        Column::Number("MEMORY"),
        Column::Text("STARTED (UTC)"),
        Column::Long("QUEUES"),
    ]);
    for process in processes {
        let info = &process.info;
        table.row([
            process.identity.clone(),
            text::number(process.busy),
            text::number(info.concurrency as u64),
            if process.quiet { "quiet".to_owned() } else { String::new() },
            info.rss_kb.map(|kib| text::bytes(kib << 10)).unwrap_or_default(),
            // A record written by hand may not say it.
            if info.started_at == EpochSeconds::EPOCH {
                String::new()
            } else {
                text::when(info.started_at, now)
            },
            weighted(&info.queues),
        ]);
    }
    table
}

/// Each queue once, with its weight.
fn weighted(queues: &[String]) -> String {
    let mut weights: Vec<(&str, usize)> = Vec::new();
    for queue in queues {
        match weights.iter_mut().find(|(name, _)| name == queue) {
            Some((_, weight)) => *weight += 1,
            None => weights.push((queue, 1)),
        }
    }
    let shown = weights.into_iter().map(|(name, weight)| match weight {
        1 => name.to_owned(),
        weight => format!("{name},{weight}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The processes that are meant.
fn meant<'a>(processes: &'a [Process], who: &str) -> Result<Vec<&'a Process>, Failure> {
    if who == "all" {
        if processes.is_empty() {
            return Err(Failure::Failed("no process is running".to_owned()));
        }
        return Ok(processes.iter().collect());
    }
    let by =
        |is: &dyn Fn(&Process) -> bool| processes.iter().filter(|process| is(process)).collect::<Vec<_>>();
    let is_pid = |process: &Process| who.parse() == Ok(process.info.pid);
    let mut found = by(&|process| process.identity == who);
    for is in [&is_pid as &dyn Fn(&Process) -> bool, &|process| process.identity.starts_with(who)] {
        if found.is_empty() && !who.is_empty() {
            found = by(is);
        }
    }
    match found.len() {
        1 => Ok(found),
        0 => Err(Failure::Failed(format!("no such process: {who}; see cogworker processes"))),
        _ => {
            let names: Vec<&str> = found.iter().map(|process| process.identity.as_str()).collect();
            Err(Failure::Failed(format!("{who} may be any of {}", names.join(", "))))
        }
    }
}

pub(crate) async fn tell(
    client: &Client,
    who: &Who,
    control: Control,
    yes: bool,
    output: &mut Output,
) -> Outcome {
    let processes = client.processes().await.doing("list the processes")?;
    let processes = meant(&processes, &who.who)?;
    if control == Control::Stop {
        let busy: u64 = processes.iter().map(|process| process.busy).sum();
        let count = match *processes {
            [only] => only.identity.clone(),
            _ => text::count(processes.len() as u64, "process", "processes"),
        };
        let busy = if busy == 0 { String::new() } else { format!(" (running {})", text::jobs(busy)) };
        confirm(&format!("stop {count}{busy}"), yes)?;
    }
    let mut deaf = Vec::new();
    for process in processes {
        let heard =
            process.send(control).await.doing(format!("tell {} to {}", process.identity, control.name()))?;
        if output.json {
            output.record(&Told { identity: &process.identity, told: control.name(), heard })?;
        } else if heard {
            output.line(&format!("{}: told to {}", process.identity, control.name()))?;
        }
        if !heard {
            deaf.push(process.identity.as_str());
        }
    }
    if deaf.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "not heard by {}: it may have just died, or be reconnecting",
        deaf.join(", ")
    )))
}
