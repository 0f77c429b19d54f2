//! What the page offers to do to all jobs that match, and how it asks before.

use super::{JobsPage, State};
use crate::display;

impl JobsPage {
    /// What can be done to all of this state that match, when there are any.
    pub(super) fn can_run_all(&self) -> bool {
        let state = self.query.state;
        matches!(state, State::Scheduled | State::Retrying | State::Dead) && self.listing.meant() != Some(0)
    }

    pub(super) fn can_delete_all(&self) -> bool {
        !matches!(self.query.state, State::All | State::Running) && self.listing.meant() != Some(0)
    }

    pub(super) fn can_reschedule(&self) -> bool {
        matches!(self.query.state, State::All | State::Scheduled | State::Retrying)
    }

    /// `all 148`, or all that match where nobody knows how many those are.
    pub(super) fn all_label(&self) -> String {
        match self.listing.meant() {
            Some(count) => format!("all {}", display::number(count)),
            None => "all that match".to_owned(),
        }
    }

    pub(super) fn counted_jobs(&self) -> String {
        match self.listing.meant() {
            Some(count) => display::counted(count, "job", "jobs"),
            None => "all jobs that match".to_owned(),
        }
    }

    pub(super) fn delete_all_label(&self) -> String {
        format!("Delete {}…", self.all_label())
    }

    pub(super) fn delete_all_question(&self) -> String {
        format!("Delete {} {}?", self.counted_jobs(), self.where_they_are())
    }

    pub(super) fn delete_all_verb(&self) -> String {
        format!("Delete {}", self.counted_jobs())
    }

    pub(super) fn run_all_label(&self) -> String {
        match self.query.state {
            State::Scheduled => format!("Run {} now", self.all_label()),
            _ => format!("Retry {}", self.all_label()),
        }
    }

    pub(super) fn run_all_path(&self) -> String {
        let action = if self.query.state == State::Scheduled { "run_now_all" } else { "retry_all" };
        format!("/jobs/{}/{action}", self.query.state.word())
    }

    pub(super) fn delete_all_path(&self) -> String {
        format!("/jobs/{}/delete_all", self.query.state.word())
    }

    pub(super) fn where_they_are(&self) -> String {
        let state = self.query.state;
        let filtered = if self.query.has_filter() { " that match" } else { "" };
        match (state, &self.query.queue) {
            (State::Enqueued, Some(queue)) => format!("from {queue}"),
            (State::Enqueued, None) => format!("from all queues{filtered}"),
            (state, _) => format!("from {}{filtered}", state.set_name()),
        }
    }

    /// What a question says of jobs that are selected.
    pub(super) fn selected_stay(&self) -> &'static str {
        if self.query.all { " Jobs that came after these were counted stay." } else { "" }
    }

    /// What a question calls those that are selected; `{n}` is how many are ticked.
    pub(super) fn selected_jobs(&self) -> String {
        if self.query.all { self.counted_jobs() } else { "{n} selected jobs".to_owned() }
    }

    pub(super) fn bulk_icon(&self) -> &'static str {
        if self.query.state == State::Scheduled { "play" } else { "retry" }
    }
}
