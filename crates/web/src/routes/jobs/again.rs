//! What was stopped when its time was up can be gone on with.

use cogworker_core::time::EpochSeconds;

use super::actions::Action;
use super::place::Target;
use super::query::{JobsQuery, State};
use crate::form::Fields;

/// An action on all that match, of which some are left. Told once, after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Again {
    /// Where its jobs are; all that the view shows when the view shows several states.
    pub(super) state: State,
    pub(super) action: Action,
    /// The time that those have which are rescheduled already.
    pub(super) at: EpochSeconds,
    /// When all of its jobs were counted.
    pub(super) counted_at: Option<EpochSeconds>,
    /// Where it was.
    pub(super) from: Option<Target>,
    /// How far it came, where that does not stand beside it.
    pub(super) told: Option<String>,
}

impl Again {
    /// As it stands in an address: `dead.delete`, `retrying.reschedule.30.1796004601.5`.
    pub(super) fn text(&self) -> String {
        let when = match self.action {
            Action::Reschedule(minutes) => format!(".{minutes}.{}", self.at),
            _ => String::new(),
        };
        format!("{}.{}{when}", self.state.word(), self.action.word())
    }

    /// Of an address or a form.
    pub(super) fn of(fields: &Fields) -> Option<Self> {
        let from = fields.get("again_from").and_then(|from| from.parse().ok());
        Some(Self { from, counted_at: fields.counted_at(), ..Self::parse(fields.get("again")?)? })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '.');
        let state = State::from_word(parts.next()?)?;
        let word = parts.next()?;
        let minutes = Fields::parse(format!("minutes={}", parts.next().unwrap_or_default()).as_bytes());
        let action = Action::parse(word, &minutes)?;
        let at = match (action, parts.next()) {
            // A time that nobody gave would make them run at once.
            (Action::Reschedule(_), at) => at?.parse().ok().filter(|at: &f64| at.is_finite() && *at > 0.0)?,
            _ => 0.0,
        };
        let fits = state == State::All || action.fits(state);
        fits.then_some(Self {
            state,
            action,
            at: EpochSeconds::new(at),
            counted_at: None,
            from: None,
            told: None,
        })
    }

    /// What an address or a form carries.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        let from = self.from.as_ref().map(|from| ("again_from", from.to_string()));
        let counted_at = self.counted_at.map(|moment| ("counted_at", moment.to_string()));
        [("again", self.text())].into_iter().chain(from).chain(counted_at).collect()
    }

    /// Where its form is sent to.
    pub(super) fn path(&self) -> String {
        match self.state {
            State::All => "/jobs/selected".to_owned(),
            state => format!("/jobs/{}/{}_all", state.word(), self.action.word()),
        }
    }

    pub(super) fn minutes(&self) -> u64 {
        match self.action {
            Action::Reschedule(minutes) => minutes,
            _ => 0,
        }
    }

    pub(super) fn deletes(&self) -> bool {
        self.action == Action::Delete
    }

    pub(super) fn label(&self) -> &'static str {
        match self.action {
            Action::Run => "Go on retrying",
            Action::Reschedule(_) => "Go on rescheduling",
            Action::Kill => "Go on killing",
            Action::Delete => "Go on deleting…",
        }
    }

    /// What it asks before it deletes.
    pub(super) fn question(&self, view: &JobsQuery) -> String {
        let matching = if view.has_filter() { " that match" } else { "" };
        match self.state {
            State::All => format!("Delete the other jobs{matching}?"),
            state => format!("Delete the other {} jobs{matching}?", state.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_do_is_read_as_it_is_written() {
        for text in [
            "dead.delete",
            "retrying.retry",
            "retrying.reschedule.30.1796004601.25",
            "all.kill",
            "scheduled.retry",
        ] {
            assert_eq!(Again::parse(text).map(|again| again.text()).as_deref(), Some(text));
        }
        for odd in [
            "",
            "dead",
            "dead.x",
            "x.delete",
            "running.delete",
            "enqueued.retry",
            "dead.kill",
            "retrying.reschedule.30",
        ] {
            assert_eq!(Again::parse(odd), None, "{odd}");
        }
        assert_eq!(Again::parse("retrying.reschedule.x.5.5").map(|again| again.minutes()), Some(1));
    }
}
