//! The signals that a swarm obeys.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::supervisor::{Request, Signal as Forwarded};

pub(crate) struct Signals {
    term: Signal,
    int: Signal,
    tstp: Signal,
    ttin: Signal,
    hup: Signal,
    usr1: Signal,
    usr2: Signal,
}

impl Signals {
    pub(crate) fn install() -> io::Result<Self> {
        let raw = |signal: nix::sys::signal::Signal| SignalKind::from_raw(signal as i32);
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            tstp: signal(raw(nix::sys::signal::SIGTSTP))?,
            ttin: signal(raw(nix::sys::signal::SIGTTIN))?,
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
            usr2: signal(SignalKind::user_defined2())?,
        })
    }

    /// The next one that asks for something.
    pub(crate) async fn next(&mut self) -> Request {
        loop {
            return tokio::select! {
                _ = self.term.recv() => Request::Stop(Forwarded::Term),
                _ = self.int.recv() => Request::Stop(Forwarded::Int),
                _ = self.tstp.recv() => Request::Quiet,
                _ = self.ttin.recv() => Request::Forward(Forwarded::Ttin),
                _ = self.hup.recv() => Request::Forward(Forwarded::Hup),
                _ = self.usr2.recv() => {
                    info!("told to restart (USR2)");
                    Request::Restart
                }
                // It would end the process: half the world's log rotations send it (SWARM-08, LOG-15).
                _ = self.usr1.recv() => {
                    warn!("ignored the signal USR1, which means nothing to a swarm");
                    continue;
                }
            };
        }
    }
}
