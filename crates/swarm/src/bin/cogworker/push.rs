//! `cogworker push CLASS ARGS…`.

use std::time::Duration;

use clap::Args;
use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::time::EpochSeconds;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::exit::{Failure, Outcome, While};
use crate::output::Output;
use crate::text::when;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cogworker push GreetingJob '\"world\"'\n  cogworker push ResizeJob '\"cat.png\"' 64 --queue low --in 5m\n  \
                        cogworker push ImportJob '{\"file\":\"a.csv\"}' --set 'unique=\"until_executed\"'"
)]
pub(crate) struct Options {
    /// The job's class
    class: String,
    /// Its args, each a JSON value: a text goes in double quotes, inside the shell's own
    #[arg(allow_negative_numbers = true)]
    args: Vec<String>,
    /// The queue; by default `default`
    #[arg(short, long, value_name = "NAME")]
    queue: Option<String>,
    /// Run it this much later: 90s, 5m, 1h 30m, 2days
    #[arg(long = "in", value_name = "DURATION", value_parser = humantime::parse_duration, conflicts_with = "at")]
    delay: Option<Duration>,
    /// Run it at this time: 2026-11-30T05:00:00Z, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<EpochSeconds>,
    /// How often it is tried again: a number, true for 25 times, false for never
    #[arg(long, value_name = "N|true|false", value_parser = retry)]
    retry: Option<String>,
    /// Any further option of the job, with a JSON value; can be repeated
    #[arg(long, value_name = "KEY=JSON")]
    set: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Pushed<'a> {
    jid: &'a str,
    class: &'a str,
    queue: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<EpochSeconds>,
}

fn time(text: &str) -> Result<EpochSeconds, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let parsed = chrono::DateTime::parse_from_rfc3339(text);
    let moment = parsed.map(|time| time.timestamp_micros() as f64 / 1e6);
    match number.or(moment.ok()) {
        Some(seconds) => Ok(EpochSeconds::new(seconds)),
        None => Err("expected a time such as 2026-11-30T05:00:00Z, or seconds since 1970".to_owned()),
    }
}

fn retry(text: &str) -> Result<String, String> {
    if matches!(text, "true" | "false") || text.parse::<u32>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("expected a whole number, true or false".to_owned())
}

/// A JSON value with its exact bytes.
fn json(text: &str, what: &str) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        // A plain word is what people try first.
        let quoted = serde_json::Value::from(text).to_string().replace('\'', r"'\''");
        Failure::Usage(format!(
            "{what}: expected a JSON value, found {text} ({error}); for a text write '{quoted}'"
        ))
    })
}

impl Options {
    pub(crate) fn job(&self) -> Result<NewJob, Failure> {
        if self.class.trim().is_empty() {
            return Err(Failure::Usage("the class is empty".to_owned()));
        }
        let mut job = NewJob::new(&self.class);
        let mut args = Vec::with_capacity(self.args.len());
        for (index, text) in self.args.iter().enumerate() {
            args.push(json(text, &format!("argument {}", index + 1))?.get().to_owned());
        }
        job.set_raw("args", json(&format!("[{}]", args.join(",")), "the arguments")?);
        for pair in &self.set {
            let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                return Err(Failure::Usage(format!("--set: expected KEY=JSON, found {pair}")));
            };
            if matches!(key, "class" | "args" | "enqueued_at") {
                return Err(Failure::Usage(format!("--set: {key} is set by the command itself")));
            }
            job.set_raw(key, json(value, &format!("--set {key}"))?);
        }
        if let Some(queue) = &self.queue {
            job = job.queue(queue);
        }
        if let Some(retry) = &self.retry {
            job.set_raw("retry", json(retry, "--retry")?);
        }
        let now = EpochSeconds::now();
        if let Some(at) = self.at.or_else(|| self.delay.map(|delay| now.plus(delay))) {
            job = job.at(at);
        }
        // What the client would refuse is refused before Redis is asked.
        job.clone().prepare(now).map_err(|error| Failure::Usage(format!("failed to {error}")))?;
        Ok(job)
    }
}

pub(crate) async fn run(client: &Client, options: &Options, output: &mut Output) -> Outcome {
    let mut job = options.job()?;
    let now = EpochSeconds::now();
    let prepared = job.prepare(now).map_err(|error| Failure::Usage(format!("failed to {error}")))?;
    match client.push(job.clone()).await.doing("push the job")? {
        Some(jid) if output.json => {
            let queue = &prepared.queue;
            output.record(&Pushed { jid: jid.as_str(), class: &options.class, queue, at: prepared.at })?;
        }
        Some(jid) => {
            let due = prepared.at.map(|at| format!(", due {}", when(at, now))).unwrap_or_default();
            output.line(&format!("pushed {jid} onto the queue {}{due}", prepared.queue))?;
        }
        None => {
            let owner = client.unique_lock(&job).await.doing("look for the job's lock")?;
            let owner = owner.map(|jid| format!(": {jid}")).unwrap_or_default();
            return Err(Failure::Failed(format!("not pushed: an equal unique job is under way{owner}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_or_a_number() {
        assert_eq!(time("1796004601.5"), Ok(EpochSeconds::new(1_796_004_601.5)));
        assert_eq!(time("2026-11-30T02:10:01.5+01:00"), Ok(EpochSeconds::new(1_796_001_001.5)));
        for wrong in ["", "tomorrow", "nan", "2026-11-30"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
