//! What is done to all jobs that a view means: in bounded slices, each one step of Redis, until the time is up.

use std::time::{Duration, Instant};

use axum::response::Response;
use cogworker_client::{EntryFilter, EntryRef, JobSet, Queue};
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;

use super::actions::{Action, in_minutes};
use super::again::Again;
use super::place::{Place, Target};
use super::query::{JobsQuery, State};
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::Fields;
use crate::message::{Message, failed_to};

/// Which jobs.
pub(super) struct Reach {
    query: JobsQuery,
    /// When they were counted: what came later stays.
    counted_at: Option<EpochSeconds>,
    /// What was done to some of them already.
    before: Option<Again>,
}

/// How far it came.
#[derive(Debug)]
struct Progress {
    began: Instant,
    patience: Duration,
    /// The same for all, so that those that have it are known.
    at: EpochSeconds,
    steps: u64,
    done: u64,
    /// Those that match and stay where they are.
    left: u64,
    looked_at: u64,
    total: u64,
    /// Where it was when its time was up.
    cut_off: Option<Target>,
    error: Option<RedisError>,
}

impl Reach {
    /// Those that a form means.
    pub(super) fn new(query: JobsQuery, form: &Fields) -> Self {
        Self { query, counted_at: form.counted_at(), before: Again::of(form) }
    }

    /// Where they are, in an order that stays; from where it was on.
    async fn places(&self, ui: &Ui, action: Action) -> Result<Vec<Place>, RedisError> {
        let query = &self.query;
        let states = match query.state {
            State::All => State::ALL[1..].to_vec(),
            state => vec![state],
        };
        let mut places = Vec::new();
        for state in states.into_iter().filter(|state| action.fits(*state)) {
            match (Place::of_set(state), &query.queue, query.state) {
                (Some(place), ..) => places.push(place),
                (None, Some(queue), State::Enqueued) => places.push(Place::Queue(queue.clone())),
                _ => {
                    let queues = ui.client().queues().await?.into_iter();
                    places.extend(queues.map(|queue| Place::Queue(queue.name)));
                }
            }
        }
        if let Some(from) = self.from() {
            places.retain(|place| order(place) >= order(&from.place));
        }
        Ok(places)
    }

    fn from(&self) -> Option<&Target> {
        self.before.as_ref().and_then(|before| before.from.as_ref())
    }

    fn filter(&self, place: &Place) -> EntryFilter {
        counted_by(self.query.filter(place), self.counted_at)
    }

    /// Where in `place` it was, if it was there.
    fn position(&self, place: &Place) -> Option<&EntryRef> {
        self.from().filter(|from| from.place == *place).map(|from| &from.entry)
    }
}

/// Without what came after those that are meant were counted.
fn counted_by(filter: EntryFilter, moment: Option<EpochSeconds>) -> EntryFilter {
    match moment {
        Some(moment) => filter.came_by(moment),
        None => filter,
    }
}

fn order(place: &Place) -> (usize, &str) {
    let state = State::ALL.iter().position(|state| *state == place.state());
    let queue = match place {
        Place::Queue(name) => name.as_str(),
        _ => "",
    };
    (state.unwrap_or(0), queue)
}

pub(super) async fn run(
    ui: &Ui,
    action: Action,
    reach: Reach,
    view: JobsQuery,
) -> Result<Response, WebError> {
    let at = match (action, &reach.before) {
        (Action::Reschedule(_), Some(before)) => before.at,
        (Action::Reschedule(minutes), None) => in_minutes(minutes),
        _ => in_minutes(0),
    };
    let mut progress = Progress::new(ui, at);
    let query = &reach.query;
    for place in reach.places(ui, action).await? {
        if progress.is_over_before(&place) {
            break;
        }
        let (filter, position) = (reach.filter(&place), reach.position(&place));
        let result = match (place.set(ui.client()), &place) {
            (Some(set), _) => progress.set(&set, &filter, action, position).await,
            (None, Place::Queue(name)) => progress.queue(&ui.client().queue(name), &filter, position).await,
            _ => continue,
        };
        if progress.ends_at(place, result) {
            break;
        }
    }
    let what = format!("{} of {}", progress.done, query.href());
    ui.log_action(action.name(), &what);
    let message = progress.told(action);
    let told = ui.is_fragment().then(|| format!("{}.", message.title));
    let from = progress.cut_off.filter(|_| progress.error.is_none());
    let counted_at = reach.counted_at;
    let again = from.map(|from| Again { state: query.state, action, at, counted_at, from: Some(from), told });
    super::done(ui, message, JobsQuery { again, ..view.beginning() }).await
}

impl Progress {
    fn new(ui: &Ui, at: EpochSeconds) -> Self {
        Self::within(ui.shared.options.patience, at)
    }

    fn within(patience: Duration, at: EpochSeconds) -> Self {
        Self {
            began: Instant::now(),
            patience,
            at,
            steps: 0,
            done: 0,
            left: 0,
            looked_at: 0,
            total: 0,
            cut_off: None,
            error: None,
        }
    }

    fn time_is_up(&self) -> bool {
        self.began.elapsed() >= self.patience
    }

    /// True when there is no time to begin there. Something is done in any case.
    fn is_over_before(&mut self, place: &Place) -> bool {
        if self.steps == 0 || !self.time_is_up() {
            return false;
        }
        let beginning = place.state().has_scores().then_some(EpochSeconds::FIRST);
        self.cut_off = Some(Target { place: place.clone(), entry: EntryRef::new(b"", 0, beginning) });
        true
    }

    /// Notes how it went there. True when it ends with this: at an error, or for want of time.
    fn ends_at(&mut self, place: Place, result: Result<Option<EntryRef>, RedisError>) -> bool {
        match result {
            Ok(None) => return false,
            Ok(Some(entry)) => self.cut_off = Some(Target { place, entry }),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
        true
    }

    /// All entries of a set that are meant, or those for which there was time: then where it is.
    async fn set(
        &mut self,
        set: &JobSet,
        filter: &EntryFilter,
        action: Action,
        position: Option<&EntryRef>,
    ) -> Result<Option<EntryRef>, RedisError> {
        let mut walk = set.walk(filter.clone());
        if let Some(position) = position {
            walk.go_on_from(position).await?;
        }
        let (before, total) = (self.looked_at, self.total);
        loop {
            let more = match action {
                Action::Delete => walk.delete_next().await?.map(|done| (done, 0, None)),
                Action::Kill => walk.kill_next().await?.map(|all| (all.killed, 0, all.error)),
                Action::Reschedule(_) => walk.reschedule_next(self.at).await?.map(|done| (done, 0, None)),
                Action::Run => walk.requeue_next().await?.map(|all| (all.requeued, all.left, all.error)),
            };
            (self.looked_at, self.total) = (before + walk.looked_at(), total + walk.total());
            let Some((done, left, error)) = more else { return Ok(None) };
            self.steps += 1;
            self.done += done;
            self.left += left;
            if let Some(error) = error {
                self.error.get_or_insert(error);
            }
            if walk.looked_at() < walk.total() && self.time_is_up() {
                return Ok(Some(walk.position()));
            }
        }
    }

    /// The same of waiting jobs. They can only be deleted.
    async fn queue(
        &mut self,
        queue: &Queue,
        filter: &EntryFilter,
        position: Option<&EntryRef>,
    ) -> Result<Option<EntryRef>, RedisError> {
        let mut walk = queue.walk(filter.clone());
        if let Some(position) = position {
            walk.go_on_from(position).await?;
        }
        let (before, total) = (self.looked_at, self.total);
        while let Some(deleted) = walk.delete_next().await? {
            self.steps += 1;
            self.done += deleted;
            (self.looked_at, self.total) = (before + walk.looked_at(), total + walk.total());
            if walk.looked_at() < walk.total() && self.time_is_up() {
                return Ok(Some(walk.position()));
            }
        }
        Ok(None)
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
        if self.cut_off.is_some() || self.error.is_some() {
            let number = display::number;
            let far = format!("Looked at {} of {}.", number(self.looked_at), number(self.total));
            detail.push(far);
        }
        if self.cut_off.is_some() {
            detail.push(format!(
                "It stopped after {}: do it again to go on.",
                display::duration(self.patience)
            ));
        }
        detail.retain(|line| !line.is_empty());
        let nothing = self.done == 0 && self.left == 0;
        let message = match &self.error {
            Some(_) if self.done == 0 => Message::bad("Nothing was changed"),
            Some(_) => Message::bad(title),
            None if nothing && self.cut_off.is_none() => {
                Message::warn("No job matches any more").detail("Nothing was changed.")
            }
            None if self.left > 0 || self.cut_off.is_some() => Message::warn(title),
            None => Message::ok(title),
        };
        if nothing && self.error.is_none() && self.cut_off.is_none() {
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
    counted_at: Option<EpochSeconds>,
) -> Message {
    let action = match action {
        GroupAction::Retry => Action::Run,
        GroupAction::Delete => Action::Delete,
    };
    let filter = counted_by(EntryFilter::new().error_group(error_class, message), counted_at);
    let mut progress = Progress::new(ui, in_minutes(0));
    for place in states.iter().filter_map(|state| Place::of_set(*state)) {
        let Some(set) = place.set(ui.client()) else { continue };
        if progress.is_over_before(&place) {
            break;
        }
        let result = progress.set(&set, &filter, action, None).await;
        if progress.ends_at(place, result) {
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
        let begun = Progress::within(Duration::from_secs(20), EpochSeconds::EPOCH);
        let at = Target { place: Place::Dead, entry: EntryRef::new(b"x", 3, Some(EpochSeconds::EPOCH)) };
        let cut = Progress { done: 31_500, looked_at: 40_000, total: 48_000, cut_off: Some(at), ..begun };
        let told = cut.told(Action::Delete);
        assert_eq!((told.tone, told.title.as_str()), (Tone::Warn, "31,500 jobs deleted"));
        assert_eq!(told.detail, "Looked at 40,000 of 48,000. It stopped after 20 s: do it again to go on.");
        let failed = Progress { error: Some(RedisError::TimedOut("EVALSHA".into())), ..cut };
        assert_eq!(failed.told(Action::Run).tone, Tone::Bad);
    }
}
