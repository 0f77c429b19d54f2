//! What the service manager (systemd) hears; without one, nothing.

use std::time::Duration;

use sd_notify::NotifyState;
use tracing::warn;

use crate::supervisor::Status;

#[derive(Debug, Default)]
pub(crate) struct Service {
    /// It was told that the service is up.
    started: bool,
    restarting: bool,
    complained: bool,
}

impl Service {
    /// How often the watchdog wants to hear something: half the time after which it would act.
    pub(crate) fn watchdog_period() -> Option<Duration> {
        sd_notify::watchdog_enabled().map(|limit| limit / 2).filter(|period| !period.is_zero())
    }

    pub(crate) fn watchdog(&mut self) {
        self.tell(&[NotifyState::Watchdog]);
    }

    /// The service is up as soon as one worker takes jobs, and a reload is over when the restart is.
    pub(crate) fn status(&mut self, status: Status) {
        let Status { ready, count, restarting, stopping } = status;
        let text = match (stopping, restarting) {
            (true, _) => "stopping".to_owned(),
            (false, true) => format!("restarting; {ready} of {count} workers are ready"),
            (false, false) => format!("{ready} of {count} workers are ready"),
        };
        let mut states = vec![NotifyState::Status(&text)];
        if stopping {
            states.push(NotifyState::Stopping);
        } else if restarting && self.started && !self.restarting {
            states.push(NotifyState::Reloading);
            states.extend(NotifyState::monotonic_usec_now().ok());
            self.restarting = true;
        } else if !restarting && (self.restarting || !self.started && ready > 0) {
            states.push(NotifyState::Ready);
            (self.started, self.restarting) = (true, false);
        }
        self.tell(&states);
    }

    fn tell(&mut self, states: &[NotifyState<'_>]) {
        match sd_notify::notify(states) {
            Err(error) if !self.complained => {
                self.complained = true;
                warn!("could not tell the service manager how it goes: {error}");
            }
            _ => {}
        }
    }
}
