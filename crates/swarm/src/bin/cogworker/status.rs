//! `cogworker status JID`.

use std::collections::BTreeMap;

use clap::Args;
use cogworker_client::Client;
use cogworker_core::formats::AttemptRecord;
use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use crate::exit::{Failure, Outcome, While};
use crate::output::Output;
use crate::table::{Column, Table};
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The job's id
    jid: String,
}

#[derive(Debug, Serialize)]
struct StatusRecord<'a> {
    jid: &'a str,
    /// `None` without a status.
    status: Option<&'static str>,
    update_time: Option<EpochSeconds>,
    class: Option<String>,
    queue: Option<String>,
    pct: Option<f64>,
    message: Option<String>,
    error_class: Option<String>,
    error_message: Option<String>,
    /// What else the job stored.
    fields: BTreeMap<String, String>,
    attempts: Vec<AttemptRecord>,
}

pub(crate) async fn run(client: &Client, options: &Options, output: &mut Output) -> Outcome {
    let jid = options.jid.as_str();
    let status = client.status(jid).await.doing(format!("read the status of {jid}"))?;
    let attempts = client.attempts(jid).await.doing(format!("read the attempts of {jid}"))?;
    if status.is_none() && attempts.is_empty() {
        return Err(Failure::Failed(format!(
            "nothing is known of the job {jid}: there is no such job, or its workers keep no status, or it has expired"
        )));
    }
    let state = status.as_ref().map(|status| status.state.name());
    let status = status.map(|status| StatusRecord {
        jid,
        status: state,
        update_time: status.update_time,
        class: status.class,
        queue: status.queue,
        pct: status.pct,
        message: status.message,
        error_class: status.error_class,
        error_message: status.error_message,
        fields: status.fields,
        attempts: Vec::new(),
    });
    let none = || StatusRecord {
        jid,
        status: None,
        update_time: None,
        class: None,
        queue: None,
        pct: None,
        message: None,
        error_class: None,
        error_message: None,
        fields: BTreeMap::new(),
        attempts: Vec::new(),
    };
    let record = StatusRecord { attempts, ..status.unwrap_or_else(none) };
    if output.json { Ok(output.record(&record)?) } else { show(record, output) }
}

fn show(record: StatusRecord<'_>, output: &mut Output) -> Outcome {
    let now = EpochSeconds::now();
    let mut lines = vec![("jid".to_owned(), record.jid.to_owned())];
    let state = match record.status {
        None => "no status".to_owned(),
        Some("") => "unknown".to_owned(),
        Some(name) => name.to_owned(),
    };
    lines.push(("status".to_owned(), state));
    let known = [
        ("updated (UTC)", record.update_time.map(|at| text::when(at, now))),
        ("class", record.class),
        ("queue", record.queue),
        ("progress", record.pct.map(|pct| format!("{pct} %"))),
        ("message", record.message),
        (
            "error",
            record.error_class.or(record.error_message.is_some().then(String::new)).map(|class| {
                let message = record.error_message.unwrap_or_default();
                if message.is_empty() { class } else { format!("{class}: {message}") }
            }),
        ),
    ];
    lines.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    lines.extend(record.fields);
    let width = lines.iter().map(|(name, _)| text::width(&text::shown(name))).max().unwrap_or(0);
    for (name, value) in lines {
        let name = text::shown(&name);
        let padding = " ".repeat(width - text::width(&name));
        output.short_line(&format!("{name}{padding}  {value}"))?;
    }
    if record.attempts.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let mut table = Table::new([
        Column::Number("ATTEMPT"),
        Column::Text("FAILED (UTC)"),
        Column::Text("OUTCOME"),
        Column::Long("ERROR"),
    ]);
    for attempt in record.attempts {
        let outcome = serde_json::to_value(attempt.outcome).ok();
        table.row([
            attempt.attempt.to_string(),
            text::when(attempt.failed_at, now),
            outcome.as_ref().and_then(|outcome| outcome.as_str()).unwrap_or_default().to_owned(),
            format!("{}: {}", attempt.error_class, attempt.error_message),
        ]);
    }
    Ok(output.table(&table)?)
}
