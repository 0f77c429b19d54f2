//! A job as a row of a list.

use std::collections::HashMap;

use bytes::Bytes;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use super::place::{Located, Place, Runs, Target};
use super::query::{JobsQuery, SortKey, State};
use crate::Ui;
use crate::display;

const SHORT_ARGS: usize = 160;
/// A class or a queue that is longer is nobody's name.
const LONGEST_NAME: usize = 120;

pub(super) struct JobRow {
    /// By which updates find the row again.
    pub(super) id: String,
    pub(super) target: Target,
    pub(super) state: State,
    pub(super) jid: String,
    pub(super) class: String,
    pub(super) args: String,
    pub(super) queue: String,
    /// False when the bytes are no job: it can be deleted, and nothing else.
    pub(super) is_job: bool,
    /// Failed attempts, and how many there are at most; `None` for a job that did not fail.
    pub(super) attempts: Option<(u64, u64)>,
    /// Why it failed last, of one that is retrying or dead: `Class: message`, on one line.
    pub(super) error: Option<String>,
    pub(super) next_run: Option<EpochSeconds>,
    pub(super) at: Option<EpochSeconds>,
    pub(super) running: Option<Runs>,
    pub(super) href: String,
    pub(super) is_open: bool,
}

impl JobRow {
    pub(super) fn new(ui: &Ui, query: &JobsQuery, located: &Located) -> Self {
        let Located { target, raw, score, running } = located;
        let state = target.place.state();
        let job = RawJob::parse(raw).ok();
        let (class, args) = match &job {
            Some(job) => (job.class(), ui.args(job.class(), job.args_json())),
            None => ("(unparseable)", ui.stray(start_of(raw))),
        };
        let field = |name| job.as_ref().and_then(|job| job.field_as::<f64>(name)).map(EpochSeconds::new);
        let jid = job.as_ref().map(|job| job.jid().to_owned()).unwrap_or_default();
        let class = if class.is_empty() { "(no class)" } else { class };
        Self {
            id: format!("j-{}-{}", state.word(), target.entry.hash()),
            attempts: job.as_ref().and_then(attempts),
            error: job.as_ref().filter(|_| matches!(state, State::Retrying | State::Dead)).and_then(error),
            next_run: score.filter(|_| matches!(state, State::Scheduled | State::Retrying)),
            at: match state {
                State::Running => running.as_ref().map(|runs| runs.since),
                State::Dead => *score,
                State::Retrying => job.as_ref().and_then(RawJob::failed_at),
                State::Scheduled => field("created_at"),
                _ => job.as_ref().and_then(RawJob::enqueued_at).or_else(|| field("created_at")),
            },
            queue: match &target.place {
                Place::Queue(queue) => queue.clone(),
                _ => job.as_ref().and_then(|job| job.queue()).unwrap_or_default().to_owned(),
            },
            class: display::shortened(class, LONGEST_NAME),
            args: display::shortened(&args, SHORT_ARGS),
            is_job: job.is_some(),
            running: running.clone(),
            href: query.opened(&jid, target).href(),
            is_open: query
                .entry
                .as_ref()
                .is_some_and(|open| open.place == target.place && open.entry.hash() == target.entry.hash()),
            target: target.clone(),
            state,
            jid,
        }
    }

    pub(super) fn shown_queue(&self) -> String {
        display::shortened(&self.queue, LONGEST_NAME)
    }

    pub(super) fn shown_jid(&self) -> String {
        display::shortened(&self.jid, LONGEST_NAME)
    }

    pub(super) fn can_run(&self) -> bool {
        self.is_job && matches!(self.state, State::Scheduled | State::Retrying | State::Dead)
    }

    /// A running job is its worker's.
    pub(super) fn can_change(&self) -> bool {
        self.state != State::Running
    }

    pub(super) fn run_label(&self) -> &'static str {
        run_label(self.state)
    }

    pub(super) fn run_icon(&self) -> &'static str {
        if self.state == State::Scheduled { "play" } else { "retry" }
    }

    pub(super) fn run_path(&self) -> &'static str {
        run_path(self.state)
    }

    pub(super) fn delete_path(&self) -> String {
        format!("/jobs/{}/delete", self.state.word())
    }

    /// What a question about it calls it.
    pub(super) fn name(&self) -> String {
        if self.is_job { self.class.clone() } else { "unreadable entry".to_owned() }
    }

    pub(super) fn compare(&self, other: &Self, key: SortKey) -> std::cmp::Ordering {
        let time = |at: &Option<EpochSeconds>| at.map_or(f64::NEG_INFINITY, EpochSeconds::as_f64);
        match key {
            SortKey::Job => self.class.cmp(&other.class),
            SortKey::Queue => self.queue.cmp(&other.queue),
            SortKey::Attempt => self.attempts.cmp(&other.attempts),
            SortKey::NextRun => time(&self.next_run).total_cmp(&time(&other.next_run)),
            SortKey::At => time(&self.at).total_cmp(&time(&other.at)),
        }
    }
}

/// Equal jobs may wait in a queue, and ids must not be equal.
pub(super) fn tell_apart(rows: &mut [JobRow]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for row in rows {
        let count = seen.entry(row.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            row.id = format!("{}-{count}", row.id);
        }
    }
}

pub(super) fn run_label(state: State) -> &'static str {
    match state {
        State::Scheduled => "Run now",
        State::Dead => "Retry",
        _ => "Retry now",
    }
}

pub(super) fn run_path(state: State) -> &'static str {
    match state {
        State::Scheduled => "/jobs/scheduled/run_now",
        State::Dead => "/jobs/dead/retry",
        _ => "/jobs/retrying/retry_now",
    }
}

/// A job runs once, and once more for each of its retries.
pub(super) fn attempts(job: &RawJob<'_>) -> Option<(u64, u64)> {
    let failed = u64::from(job.retry_count());
    (failed > 0).then(|| (failed, failed.max(u64::from(job.retry_budget()) + 1)))
}

/// What went wrong, as a line.
fn error(job: &RawJob<'_>) -> Option<String> {
    let field = |name| job.field_as::<String>(name).filter(|text| !text.is_empty());
    let line = match (field("error_class"), field("error_message")) {
        (Some(class), Some(message)) => format!("{class}: {message}"),
        (class, message) => class.or(message)?,
    };
    let start: String = line.chars().take(4 * SHORT_ARGS).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    Some(display::shortened(&words.join(" "), SHORT_ARGS))
}

/// The beginning of what may be anything.
pub(super) fn start_of(raw: &Bytes) -> &[u8] {
    &raw[..raw.len().min(4 * SHORT_ARGS)]
}
