//! What is done to all jobs that a view means: in bounded slices, each one step of Redis, until the time is up.

use std::time::{Duration, Instant};

use axum::response::Response;
use cogworker_client::{EntryFilter, JobSet};
use cogworker_core::redis::RedisError;

use super::actions::{Action, in_minutes};
use super::place::Place;
use super::query::{JobsQuery, State};
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::message::{Message, failed_to};

/// Somebody waits for the answer; what is left can be asked for again.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Which jobs.
pub(super) struct Reach {
    query: JobsQuery,
}

/// How far it came.
#[derive(Debug, Default)]
struct Progress {
    done: u64,
    /// Those that match and stay where they are.
    left: u64,
    looked_at: u64,
    total: u64,
    cut_off: bool,
    error: Option<RedisError>,
}

impl Reach {
    pub(super) fn new(query: JobsQuery) -> Self {
        Self { query }
    }
}

pub(super) async fn run(
    ui: &Ui,
    action: Action,
    reach: &Reach,
    view: JobsQuery,
) -> Result<Response, WebError> {
    let query = &reach.query;
    let mut progress = Progress::default();
    let began = Instant::now();
    let states = match query.state {
        State::All => State::ALL[1..].to_vec(),
        state => vec![state],
    };
    for state in states.into_iter().filter(|state| action.fits(*state)) {
        let result = match Place::of_set(state) {
            Some(place) => match place.set(ui.client()) {
                Some(set) => progress.set(&set, &query.filter(&place), action, began).await,
                None => Ok(()),
            },
            None => queues(ui, query, &mut progress, began).await,
        };
        if let Err(error) = result {
            progress.error.get_or_insert(error);
            break;
        }
        if progress.cut_off {
            break;
        }
    }
    let what = format!("{} of {}", progress.done, query.href());
    ui.log_action(action.name(), &what);
    super::done(ui, progress.told(action), view.beginning()).await
}

/// All waiting jobs that are meant, of one queue or of all. They can only be deleted.
async fn queues(
    ui: &Ui,
    query: &JobsQuery,
    progress: &mut Progress,
    began: Instant,
) -> Result<(), RedisError> {
    let names: Vec<String> = match (&query.queue, query.state) {
        (Some(queue), State::Enqueued) => vec![queue.clone()],
        _ => ui.client().queues().await?.into_iter().map(|queue| queue.name).collect(),
    };
    for name in names {
        let mut walk = ui.client().queue(&name).walk(query.filter(&Place::Queue(name.clone())));
        let (before, total) = (progress.looked_at, progress.total);
        while let Some(deleted) = walk.delete_next().await? {
            progress.done += deleted;
            (progress.looked_at, progress.total) = (before + walk.looked_at(), total + walk.total());
            if progress.time_is_up(began) {
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Progress {
    fn time_is_up(&mut self, began: Instant) -> bool {
        self.cut_off = began.elapsed() >= PATIENCE;
        self.cut_off
    }

    /// All entries of a set that are meant.
    async fn set(
        &mut self,
        set: &JobSet,
        filter: &EntryFilter,
        action: Action,
        began: Instant,
    ) -> Result<(), RedisError> {
        let mut walk = set.walk(filter.clone());
        let (before, total) = (self.looked_at, self.total);
        // The same for all, so that those that have it are known.
        let at = match action {
            Action::Reschedule(minutes) => in_minutes(minutes),
            _ => in_minutes(0),
        };
        loop {
            let more = match action {
                Action::Delete => walk.delete_next().await?.map(|done| (done, 0, None)),
                Action::Kill => walk.kill_next().await?.map(|(done, error)| (done, 0, error)),
                Action::Reschedule(_) => walk.reschedule_next(at).await?.map(|done| (done, 0, None)),
                Action::Run => walk.requeue_next().await?.map(|all| (all.requeued, all.left, all.error)),
            };
            (self.looked_at, self.total) = (before + walk.looked_at(), total + walk.total());
            let Some((done, left, error)) = more else { return Ok(()) };
            self.done += done;
            self.left += left;
            if let Some(error) = error {
                self.error.get_or_insert(error);
            }
            if self.time_is_up(began) {
                return Ok(());
            }
        }
    }

    fn told(&self, action: Action) -> Message {
        let count = display::counted(self.done, "job", "jobs");
        let title = format!("{count} {}", action.done());
        let mut detail = Vec::new();
        if self.done > 0 {
            detail.push(action.whereabouts());
        }
        if self.left > 0 {
            let left = display::counted(self.left, "job stays", "jobs stay");
            detail.push(format!("{left}: without a queue, refused by it, or unique and there already."));
        }
        if let Some(error) = &self.error {
            detail.push(failed_to(error));
        }
        if self.cut_off || self.error.is_some() {
            let number = display::number;
            let far = format!("Looked at {} of {}.", number(self.looked_at), number(self.total));
            detail.push(far);
        }
        if self.cut_off {
            detail.push(format!("It stopped after {} s: do it again to go on.", PATIENCE.as_secs()));
        }
        detail.retain(|line| !line.is_empty());
        let nothing = self.done == 0 && self.left == 0;
        let message = match &self.error {
            Some(_) if self.done == 0 => Message::bad("Nothing was changed"),
            Some(_) => Message::bad(title),
            None if nothing && !self.cut_off => {
                Message::warn("No job matches any more").detail("Nothing was changed.")
            }
            None if self.left > 0 || self.cut_off => Message::warn(title),
            None => Message::ok(title),
        };
        if nothing && self.error.is_none() && !self.cut_off {
            message
        } else {
            message.detail(detail.join(" "))
        }
    }
}

/// What can be done to a group of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupAction {
    Retry,
    Delete,
}

/// To all jobs in these states whose last error is of one group.
pub(crate) async fn act_on_group(
    ui: &Ui,
    action: GroupAction,
    states: &[State],
    error_class: &str,
    message: &str,
) -> Message {
    let action = match action {
        GroupAction::Retry => Action::Run,
        GroupAction::Delete => Action::Delete,
    };
    let filter = EntryFilter::new().error_group(error_class, message);
    let mut progress = Progress::default();
    let began = Instant::now();
    for place in states.iter().filter_map(|state| Place::of_set(*state)) {
        let Some(set) = place.set(ui.client()) else { continue };
        if let Err(error) = progress.set(&set, &filter, action, began).await {
            progress.error.get_or_insert(error);
            break;
        }
        if progress.cut_off {
            break;
        }
    }
    ui.log_action(action.name(), &format!("{} with {error_class}: {message}", progress.done));
    progress.told(action)
}

impl JobsQuery {
    /// The list after all that match were treated: from its beginning, with the detail that was open.
    fn beginning(&self) -> Self {
        Self { selected: self.selected.clone(), entry: self.entry.clone(), ..self.list() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Tone;

    #[test]
    fn a_run_that_was_cut_off_tells_how_far_it_came() {
        let cut =
            Progress { done: 31_500, looked_at: 40_000, total: 48_000, cut_off: true, ..Default::default() };
        let told = cut.told(Action::Delete);
        assert_eq!((told.tone, told.title.as_str()), (Tone::Warn, "31,500 jobs deleted"));
        assert_eq!(told.detail, "Looked at 40,000 of 48,000. It stopped after 20 s: do it again to go on.");
        let failed = Progress { error: Some(RedisError::TimedOut("EVALSHA".into())), ..cut };
        assert_eq!(failed.told(Action::Run).tone, Tone::Bad);
    }
}
