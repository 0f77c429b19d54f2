//! What is done to single jobs, and to those that are ticked.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::Response;
use bytes::Bytes;
use cogworker_client::Requeued;
use cogworker_core::raw_job::RawJob;
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;

use super::bulk::{self, Reach};
use super::place::{Place, Target};
use super::query::{JobsQuery, State};
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::Fields;
use crate::message::{Message, failed_to};

/// A week (WEBJ-10).
const LONGEST_MINUTES: u64 = 10_080;
/// The most jobs that one form can name.
const MOST_TICKED: usize = 1000;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Action {
    /// Onto its queue, now.
    Run,
    /// So many minutes from now.
    Reschedule(u64),
    /// To Dead.
    Kill,
    Delete,
}

impl Action {
    pub(super) fn parse(word: &str, fields: &Fields) -> Option<Self> {
        Some(match word {
            "retry" | "retry_now" | "run_now" => Self::Run,
            "reschedule" => Self::Reschedule(minutes(fields)),
            "kill" => Self::Kill,
            "delete" => Self::Delete,
            _ => return None,
        })
    }

    /// Whether jobs in this state can be treated so.
    pub(super) fn fits(self, state: State) -> bool {
        match self {
            Self::Run => matches!(state, State::Scheduled | State::Retrying | State::Dead),
            Self::Reschedule(_) | Self::Kill => matches!(state, State::Scheduled | State::Retrying),
            Self::Delete => !matches!(state, State::All | State::Running),
        }
    }

    /// As forms and paths name it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Run => "retry",
            Self::Reschedule(_) => "reschedule",
            Self::Kill => "kill",
            Self::Delete => "delete",
        }
    }

    /// As the log names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Run => "run job",
            Self::Reschedule(_) => "reschedule job",
            Self::Kill => "kill job",
            Self::Delete => "delete job",
        }
    }

    /// What became of jobs.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Run => "put back",
            Self::Reschedule(_) => "rescheduled",
            Self::Kill => "moved to Dead",
            Self::Delete => "deleted",
        }
    }

    /// Where they are now, if anywhere.
    pub(super) fn whereabouts(self) -> String {
        match self {
            Self::Run => "They wait in their queues now.".to_owned(),
            Self::Reschedule(minutes) => format!("They run in {}.", display::whole(minutes * 60)),
            Self::Kill => "They stay there until they are retried or deleted.".to_owned(),
            Self::Delete => String::new(),
        }
    }
}

/// The gem's rule: no number is one minute, and a week is the most (WEBJ-10).
fn minutes(fields: &Fields) -> u64 {
    fields.number("minutes").unwrap_or(1).clamp(1, LONGEST_MINUTES)
}

/// What became of one job.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// Its queue, where it has one.
    Done(Option<String>),
    /// It was not there any more.
    Gone,
    /// It is no job, or names no queue.
    Invalid,
    /// Another job like it waits already.
    Duplicate,
    /// It cannot be treated so, where it is.
    Unfit,
}

async fn act(ui: &Ui, action: Action, place: &Place, raw: &Bytes) -> Result<Outcome, RedisError> {
    if !action.fits(place.state()) {
        return Ok(Outcome::Unfit);
    }
    let queue = || RawJob::parse(raw).ok().and_then(|job| job.queue().map(str::to_owned));
    let done = |done| if done { Outcome::Done(queue()) } else { Outcome::Gone };
    let Some(set) = place.set(ui.client()) else {
        let Place::Queue(name) = place else { return Ok(Outcome::Unfit) };
        return Ok(done(ui.client().queue(name).delete(raw).await?));
    };
    Ok(match action {
        Action::Delete => done(set.delete(raw).await?),
        Action::Kill => done(set.kill(raw).await?),
        Action::Reschedule(minutes) => done(set.reschedule(raw, in_minutes(minutes)).await?),
        Action::Run => match set.requeue(raw).await? {
            Requeued::Requeued => Outcome::Done(queue()),
            Requeued::Duplicate => Outcome::Duplicate,
            Requeued::Invalid => Outcome::Invalid,
            _ => Outcome::Gone,
        },
    })
}

pub(super) fn in_minutes(minutes: u64) -> EpochSeconds {
    EpochSeconds::now().plus(std::time::Duration::from_secs(minutes * 60))
}

/// `/jobs/{state}/{action}`: one job, or with `_all` all that the view means.
pub(super) async fn one(
    ui: Ui,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Bytes,
) -> Result<Response, WebError> {
    let Path((state, word)) = path.map_err(|_| WebError::NotFound)?;
    let fields = Fields::from(body);
    let state = State::from_word(&state).ok_or(WebError::NotFound)?;
    let (word, all) = match word.strip_suffix("_all") {
        Some(word) => (word, true),
        None => (word.as_str(), false),
    };
    let action =
        Action::parse(word, &fields).filter(|action| action.fits(state)).ok_or(WebError::NotFound)?;
    let view = JobsQuery::of_form(&fields).seen_in(&ui);
    if all {
        let mut reach = view.list();
        reach.state = state;
        return bulk::run(&ui, action, Reach::new(reach, &fields), view).await;
    }
    let (place, raw) = match named(&ui, state, &fields).await? {
        Ok(entry) => entry,
        Err(()) => return super::done(&ui, gone(state), view.closed()).await,
    };
    let outcome = act(&ui, action, &place, &raw).await?;
    let jid = RawJob::parse(&raw).map(|job| job.jid().to_owned()).unwrap_or_default();
    ui.log_action(action.name(), &format!("{jid} in {}", place.name()));
    let moved = matches!(outcome, Outcome::Done(_)) && action != Action::Delete;
    let was_open = view.selected.as_deref() == Some(&*jid) && !jid.is_empty();
    let view = match (moved, was_open) {
        // The detail follows its job.
        (true, true) => JobsQuery { entry: None, selected: Some(jid), ..view },
        _ if outcome == Outcome::Done(None) || action == Action::Delete => view.closed(),
        _ => view,
    };
    match outcome {
        Outcome::Invalid => super::not_requeueable(&ui, view).await,
        outcome => super::done(&ui, told(action, state, &place, &outcome), view).await,
    }
}

/// The job that a form names: by our reference, or by its bytes as the gem's forms do. `Err` when it is gone.
async fn named(ui: &Ui, state: State, fields: &Fields) -> Result<Result<(Place, Bytes), ()>, WebError> {
    if let Some(entry) = fields.get("entry") {
        let bad = |_| {
            WebError::BadRequest(format!("the field entry names no job: {}", display::shortened(entry, 100)))
        };
        let target: Target = entry.parse().map_err(bad)?;
        if target.place.state() != state {
            return Err(WebError::BadRequest("the field entry names a job in another state".into()));
        }
        let found = target.find(ui.client()).await?;
        return Ok(found.map(|located| (located.target.place, located.raw)).ok_or(()));
    }
    let Some(raw) = fields.all("raw").next() else {
        return Err(WebError::BadRequest("the field entry is missing: it names the job".into()));
    };
    let place = match Place::of_set(state) {
        Some(place) => place,
        None => match fields.get("queue") {
            Some(queue) => Place::Queue(queue.to_owned()),
            None => return Err(WebError::BadRequest("the field queue is missing".into())),
        },
    };
    Ok(Ok((place, Bytes::from(raw.to_owned()))))
}

fn gone(state: State) -> Message {
    Message::warn("That job is not there any more")
        .detail(format!("It has left {} meanwhile; nothing was changed.", state.set_name()))
}

fn told(action: Action, state: State, place: &Place, outcome: &Outcome) -> Message {
    match outcome {
        Outcome::Gone => gone(state),
        Outcome::Duplicate => Message::warn("Not put back: an equal job waits already")
            .detail("It is unique, and one like it was enqueued since. It stays where it is."),
        Outcome::Invalid => invalid(),
        Outcome::Unfit => Message::warn("That cannot be done to this job").detail("Nothing was changed."),
        Outcome::Done(queue) => {
            let message = Message::ok(format!("1 job {}", action.done()));
            match action {
                Action::Run => match queue {
                    Some(queue) => message.detail(format!("Now waiting in {queue}.")),
                    None => message,
                },
                Action::Delete => message.detail(format!("It was in {}.", place.name())),
                Action::Kill => message.detail("It stays there until it is retried or deleted."),
                Action::Reschedule(minutes) => {
                    message.detail(format!("It runs in {}.", display::whole(minutes * 60)))
                }
            }
        }
    }
}

/// What has no queue cannot be put back (WEBJ-16).
pub(super) fn invalid() -> Message {
    Message::warn("Not put back: it names no queue")
        .detail("It stays where it is. Delete it when nobody needs it.")
}

/// `/jobs/selected`: the ticked ones, or all that match.
pub(super) async fn selected(ui: Ui, body: Bytes) -> Result<Response, WebError> {
    let fields = Fields::from(body);
    let view = JobsQuery::of_form(&fields).seen_in(&ui);
    let word = fields.get("do").unwrap_or_default();
    let Some(action) = Action::parse(word, &fields) else {
        return Err(WebError::BadRequest("the field do must be retry, reschedule, kill or delete".into()));
    };
    if fields.get("all").is_some() {
        let reach = Reach::new(view.list(), &fields);
        return bulk::run(&ui, action, reach, JobsQuery { all: false, ..view }).await;
    }
    let mut targets = Vec::new();
    for entry in fields.all("entry").take(MOST_TICKED) {
        targets.extend(entry.parse::<Target>());
    }
    if targets.is_empty() {
        let message = Message::warn("No job is selected").detail("Tick some first; nothing was changed.");
        return super::done(&ui, message, view).await;
    }
    let (mut done, mut gone, mut stay) = (0u64, 0u64, 0u64);
    let mut error = None;
    for target in &targets {
        // Each is one step of its own: what is done stays done.
        let outcome = match target.find(ui.client()).await {
            Ok(Some(located)) => act(&ui, action, &target.place, &located.raw).await,
            Ok(None) => Ok(Outcome::Gone),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(Outcome::Done(_)) => done += 1,
            Ok(Outcome::Gone) => gone += 1,
            Ok(_) => stay += 1,
            Err(failed) => {
                error = Some(failed);
                break;
            }
        }
    }
    ui.log_action(action.name(), &format!("{done} of {} selected", targets.len()));
    let message = selected_message(action, targets.len() as u64, done, gone, stay, error.as_ref());
    super::done(&ui, message, view.closed()).await
}

fn selected_message(
    action: Action,
    all: u64,
    done: u64,
    gone: u64,
    stay: u64,
    error: Option<&RedisError>,
) -> Message {
    let mut detail = if done > 0 { vec![action.whereabouts()] } else { Vec::new() };
    if gone > 0 {
        let were = if gone == 1 { "was" } else { "were" };
        detail.push(format!("{} {were} not there any more.", display::number(gone)));
    }
    if stay > 0 {
        let (verb, they) = if stay == 1 { ("stays", "it") } else { ("stay", "they") };
        let what = "cannot be treated so: a unique one waits already, it has no queue, or";
        let rest = if they == "it" { "it is in another state" } else { "they are in another state" };
        detail.push(format!("{} {verb}, and {what} {rest}.", display::number(stay)));
    }
    if let Some(error) = error {
        detail.push(failed_to(error));
    }
    let detail: Vec<String> = detail.into_iter().filter(|line| !line.is_empty()).collect();
    let title = if done == all {
        format!("{} {}", display::counted(done, "job", "jobs"), action.done())
    } else {
        format!("{} of {} {}", display::number(done), display::counted(all, "job", "jobs"), action.done())
    };
    let message = match (done == all, error) {
        (_, Some(_)) => Message::bad(title),
        (true, None) => Message::ok(title),
        (false, None) => Message::warn(title),
    };
    message.detail(detail.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_between_one_and_a_week_webj_10() {
        for (text, expected) in [
            ("30", 30),
            ("999999999", 10_080),
            ("99999999999999999999999", 10_080),
            ("0", 1),
            ("-5", 1),
            ("x", 1),
            ("", 1),
        ] {
            assert_eq!(minutes(&Fields::parse(format!("minutes={text}").as_bytes())), expected, "{text}");
        }
    }
}
