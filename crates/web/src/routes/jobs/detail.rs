//! One job: what it is, what it did, what it will do, and where it went.

mod lookup;
mod text;

use cogworker_client::history::HistoryQuery;
use cogworker_core::formats::{AttemptOutcome, AttemptRecord, EndedRun, RunStatus, Status};
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;
use serde_json::Value;

pub(super) use self::lookup::load;
pub(super) use self::text::shown_raw;
use self::text::{LONGEST_TEXT, cut, pretty};
use super::place::{Located, Place, Target};
use super::query::{JobsQuery, State};
use super::row::{attempts, run_label, run_path, start_of};
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::Href;

/// Attempts in the timeline (WEBJ-05).
const SHOWN_ATTEMPTS: usize = 5;
/// So many of the newest runs are searched for this job's: what a page can wait for. Its history is a link away.
const SEARCHED_RUNS: u64 = 5_000;
/// Lines of a backtrace.
const LONGEST_TRACE: usize = 200;
/// A job has custom fields, not hundreds.
const MOST_FIELDS: usize = 40;

/// What stands beside the list.
pub(super) enum Panel {
    Job(Box<Detail>),
    /// It is not where it was, and nowhere else.
    Gone(Gone),
}

pub(super) struct Gone {
    pub(super) jid: String,
    /// What is said of it first.
    pub(super) title: &'static str,
    /// Where it is not.
    pub(super) where_not: String,
    pub(super) what: String,
    pub(super) history: Option<String>,
}

pub(super) struct Detail {
    pub(super) target: Target,
    pub(super) state: State,
    pub(super) title: String,
    pub(super) jid: String,
    pub(super) is_job: bool,
    /// It was looked for elsewhere: where it was.
    pub(super) moved_from: Option<&'static str>,
    pub(super) attempts_line: Option<String>,
    pub(super) next_run: Option<EpochSeconds>,
    pub(super) running: Option<super::place::Runs>,
    pub(super) progress: Option<(u8, String)>,
    pub(super) error: Option<ErrorPart>,
    pub(super) attempts: Vec<AttemptPart>,
    pub(super) attempts_total: usize,
    pub(super) args: String,
    pub(super) args_cut: bool,
    pub(super) times: Vec<(&'static str, EpochSeconds)>,
    pub(super) queue: Option<String>,
    pub(super) facts: Vec<(String, String)>,
    pub(super) raw: String,
    pub(super) raw_cut: bool,
    pub(super) raw_href: String,
    pub(super) size: String,
    pub(super) history: Option<String>,
    pub(super) runs: Vec<RunPart>,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
}

pub(super) struct ErrorPart {
    pub(super) class: String,
    pub(super) message: String,
    pub(super) trace: Vec<String>,
    /// The other jobs with it.
    pub(super) href: String,
}

pub(super) struct AttemptPart {
    pub(super) number: u32,
    pub(super) outcome: &'static str,
    pub(super) mark: &'static str,
    pub(super) at: EpochSeconds,
    pub(super) error: String,
    pub(super) trace: Vec<String>,
}

pub(super) struct RunPart {
    pub(super) failed: bool,
    pub(super) at: EpochSeconds,
    pub(super) took: String,
}

fn history(jid: &str) -> String {
    Href::new("/history").with("jid", jid).done()
}

async fn runs_of(ui: &Ui, jid: &str) -> Vec<EndedRun> {
    // A history that cannot be read breaks no other page.
    let query = HistoryQuery::new().jid(jid).newest(SEARCHED_RUNS).range(0, 25);
    ui.client().history().find(&query).await.map(|page| page.runs).unwrap_or_default()
}

fn took(run: &EndedRun) -> String {
    display::duration(std::time::Duration::from_secs_f64((run.duration_ms() / 1000.0).max(0.0)))
}

async fn detail(
    ui: &Ui,
    query: &JobsQuery,
    located: Located,
    moved_from: Option<&'static str>,
) -> Result<Detail, WebError> {
    let Located { target, raw, score, running } = located;
    let state = target.place.state();
    let job = RawJob::parse(&raw).ok();
    let jid = job.as_ref().map(|job| job.jid().to_owned()).unwrap_or_default();
    let (records, status, runs) = if jid.is_empty() {
        (Vec::new(), None, Vec::new())
    } else {
        let (records, status, runs) =
            tokio::join!(ui.client().attempts(&jid), ui.client().status(&jid), runs_of(ui, &jid));
        (records.unwrap_or_default(), status.ok().flatten(), runs)
    };
    let class = job.as_ref().map(|job| job.class().to_owned()).unwrap_or_default();
    let args = match &job {
        Some(job) => pretty(&ui.args(&class, job.args_json())),
        None => ui.stray(start_of(&raw)),
    };
    let whole = shown_raw(ui, job.as_ref(), &raw);
    let text =
        |name| job.as_ref().and_then(|job| job.field_as::<String>(name)).filter(|text| !text.is_empty());
    let error = text("error_class").or_else(|| text("error_message")).map(|_| {
        let (class, message) =
            (text("error_class").unwrap_or_default(), text("error_message").unwrap_or_default());
        let pattern = cogworker_client::failures::message_pattern(&message);
        ErrorPart {
            trace: runs.iter().find(|run| run.status == RunStatus::Failed).map(trace).unwrap_or_default(),
            href: JobsQuery::of(state).group(&class, &pattern).href(),
            class,
            message: display::shortened(&message, LONGEST_TEXT),
        }
    });
    let time = |name| job.as_ref().and_then(|job| job.field_as::<f64>(name)).map(EpochSeconds::new);
    let mut times: Vec<(&'static str, EpochSeconds)> = Vec::new();
    let mut add = |label, at: Option<EpochSeconds>| times.extend(at.map(|at| (label, at)));
    add("Created", time("created_at"));
    add("Enqueued", time("enqueued_at"));
    add("Started", running.as_ref().map(|runs| runs.since));
    add("First failed", time("failed_at"));
    add("Died", score.filter(|_| state == State::Dead));
    add("Next run", score.filter(|_| state != State::Dead));
    Ok(Detail {
        title: match (&job, class.is_empty()) {
            (None, _) => "(unparseable)".to_owned(),
            (_, true) => "(no class)".to_owned(),
            _ => display::shortened(&class, 300),
        },
        is_job: job.is_some(),
        moved_from,
        attempts_line: job.as_ref().and_then(attempts).map(|(failed, most)| match state {
            State::Dead => format!("{failed} of {most} attempts failed"),
            _ => format!("attempt {failed} of {most} failed"),
        }),
        next_run: score.filter(|_| state != State::Dead),
        progress: status.as_ref().and_then(progress),
        error,
        attempts_total: records.len(),
        attempts: timeline(&records, &runs),
        args_cut: args.len() > LONGEST_TEXT,
        args: cut(args),
        times,
        queue: match &target.place {
            Place::Queue(queue) => Some(queue.clone()),
            _ => job.as_ref().and_then(|job| job.queue()).map(str::to_owned),
        },
        facts: facts(job.as_ref(), &raw, status.as_ref()),
        raw_cut: whole.len() > LONGEST_TEXT,
        raw: cut(whole),
        raw_href: Href::new("/jobs/raw").with("entry", target.to_string()).done(),
        size: match raw.len() {
            bytes if bytes < 10_000 => display::counted(bytes as u64, "byte", "bytes"),
            bytes => display::kibibytes(bytes as u64 / 1024),
        },
        history: (!jid.is_empty()).then(|| history(&jid)),
        runs: runs.iter().take(SHOWN_ATTEMPTS).map(run_part).collect(),
        previous: None,
        next: None,
        running,
        state,
        target,
        jid,
    })
    .map(|mut detail| {
        if query.entry.is_none() {
            detail.moved_from = None;
        }
        detail
    })
}

fn run_part(run: &EndedRun) -> RunPart {
    RunPart { failed: run.status == RunStatus::Failed, at: run.finished_at, took: took(run) }
}

fn trace(run: &EndedRun) -> Vec<String> {
    run.backtrace.iter().take(LONGEST_TRACE).map(|line| display::shortened(line, 500)).collect()
}

fn progress(status: &Status) -> Option<(u8, String)> {
    let percent = status.pct?.clamp(0.0, 100.0).round() as u8;
    Some((percent, status.message.clone().map(|text| display::shortened(&text, 300)).unwrap_or_default()))
}

/// The newest attempts, the newest first (WEBJ-05). Their backtraces are in the history, under the time at which
/// they failed.
fn timeline(records: &[AttemptRecord], runs: &[EndedRun]) -> Vec<AttemptPart> {
    let part = |record: &AttemptRecord| {
        let failed = runs.iter().filter(|run| run.status == RunStatus::Failed);
        let apart = |run: &&EndedRun| (run.finished_at.as_f64() - record.failed_at.as_f64()).abs();
        let run = failed.filter(|run| apart(run) < 1.0).min_by(|a, b| apart(a).total_cmp(&apart(b)));
        let (outcome, mark) = match record.outcome {
            AttemptOutcome::Dead => ("failed and died", "dead"),
            AttemptOutcome::Killed => ("failed and was killed", "dead"),
            AttemptOutcome::Discarded => ("failed and was given up", "dead"),
            _ => ("failed", "again"),
        };
        let error = match (record.error_class.is_empty(), record.error_message.is_empty()) {
            (false, false) => format!("{}: {}", record.error_class, record.error_message),
            _ => format!("{}{}", record.error_class, record.error_message),
        };
        AttemptPart {
            number: record.attempt,
            outcome,
            mark,
            at: record.failed_at,
            error: display::shortened(&error, 1000),
            trace: run.map(trace).unwrap_or_default(),
        }
    };
    records.iter().rev().take(SHOWN_ATTEMPTS).map(part).collect()
}

/// Fields that have a place of their own.
const TOLD: [&str; 12] = [
    "class",
    "jid",
    "queue",
    "args",
    "retry",
    "retry_count",
    "created_at",
    "enqueued_at",
    "failed_at",
    "error_class",
    "error_message",
    "unique",
];

fn facts(job: Option<&RawJob<'_>>, raw: &[u8], status: Option<&Status>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(job) = job {
        facts.push(("Retries".to_owned(), display::number(u64::from(job.retry_budget()))));
        if job.is_unique() {
            facts.push(("Unique".to_owned(), "until executed".to_owned()));
        }
        // Of a huge job the raw text is shown, which has them too.
        let fields = (raw.len() <= LONGEST_TEXT)
            .then(|| serde_json::from_slice::<serde_json::Map<String, Value>>(raw));
        let fields = fields.and_then(Result::ok).unwrap_or_default();
        let own = fields.into_iter().filter(|(name, _)| !TOLD.contains(&name.as_str())).take(MOST_FIELDS);
        facts.extend(own.map(|(name, value)| (name, display::shortened(&value.to_string(), 300))));
    }
    if let Some(status) = status {
        facts.push(("Status".to_owned(), status.state.name().to_owned()));
        let own = status.fields.iter().take(MOST_FIELDS);
        facts.extend(own.map(|(name, value)| (format!("status {name}"), display::shortened(value, 300))));
    }
    facts
}

impl Detail {
    pub(super) fn can_run(&self) -> bool {
        self.is_job && matches!(self.state, State::Scheduled | State::Retrying | State::Dead)
    }

    pub(super) fn can_wait(&self) -> bool {
        self.is_job && matches!(self.state, State::Scheduled | State::Retrying)
    }

    pub(super) fn can_delete(&self) -> bool {
        self.state != State::Running
    }

    /// What a question calls it.
    pub(super) fn name(&self) -> &str {
        if self.is_job { &self.title } else { "unreadable entry" }
    }

    pub(super) fn run_label(&self) -> &'static str {
        run_label(self.state)
    }

    pub(super) fn run_path(&self) -> &'static str {
        run_path(self.state)
    }

    pub(super) fn run_icon(&self) -> &'static str {
        if self.state == State::Scheduled { "play" } else { "retry" }
    }

    pub(super) fn path(&self, action: &str) -> String {
        format!("/jobs/{}/{action}", self.state.word())
    }

    pub(super) fn last_attempt(&self) -> u32 {
        self.attempts.first().map_or(0, |attempt| attempt.number)
    }

    pub(super) fn worker_href(&self) -> String {
        let identity = self.running.as_ref().map(|runs| runs.identity.as_str());
        Href::new("/workers").with_some("process", identity).done()
    }
}
