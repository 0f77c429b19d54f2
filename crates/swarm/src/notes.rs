//! What a swarm writes into the log.

use std::collections::BTreeMap;
use std::process::ExitStatus;

use tracing::{error, info, warn};

use crate::supervisor::{End, Note, WorkerId};

/// Who is who in the log: workers are called by their process ids there.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pids: BTreeMap<WorkerId, u32>,
    /// How the one that is being told of ended. What follows from it may be that the next one cannot be started, which
    /// is told before all about this one is.
    ended: Option<(WorkerId, ExitStatus, Vec<String>)>,
}

impl Notes {
    pub(crate) fn started(&mut self, id: WorkerId, pid: u32) {
        self.pids.insert(id, pid);
    }

    /// What is said next is about this end.
    pub(crate) fn ending(&mut self, id: WorkerId, status: ExitStatus, lines: Vec<String>) {
        self.ended = Some((id, status, lines));
    }

    /// All about this one was said.
    pub(crate) fn over(&mut self, id: WorkerId) {
        self.pids.remove(&id);
        self.ended = None;
    }

    pub(crate) fn log(&self, note: Note) {
        match note {
            Note::Ready { worker, place } => info!("worker {} in place {place} is ready", self.name(worker)),
            Note::Died { worker, place, end, ready, failures, pause } => {
                let how = self.how(worker);
                let name = self.name(worker);
                let when = if ready { "" } else { " before it was ready" };
                let next = match pause.as_secs() {
                    0 => "the next one starts at once".to_owned(),
                    seconds => {
                        format!("the next one starts in {seconds} s, after {failures} failures in a row")
                    }
                };
                let text = format!("worker {name} in place {place} ended{when} ({how}): {next}");
                if end == End::Clean {
                    warn!("{text}")
                } else {
                    error!("{text}")
                }
                if end != End::Clean {
                    self.tell_last_lines(worker);
                }
            }
            Note::Left { worker, failed: false } => info!("worker {} has stopped", self.name(worker)),
            Note::Left { worker, failed: true } => {
                warn!("worker {} has stopped, but not well ({})", self.name(worker), self.how(worker));
            }
            Note::Killed { worker } => {
                error!("worker {} did not stop in time: it is killed", self.name(worker));
            }
            Note::RestartBegins { phased: true } => info!("restarting: one worker after the other"),
            Note::RestartBegins { phased: false } => info!("restarting: all workers at once"),
            Note::RestartFollows => info!("a restart is under way: another one follows"),
            Note::RestartOver { after } => info!("restarted in {:.1} s", after.as_secs_f64()),
            Note::ReplacementFailed { worker, place, late, replaced, kept } => {
                let name = self.name(worker);
                let why = match late {
                    true => "was not ready in time".to_owned(),
                    false => format!("ended before it was ready ({})", self.how(worker)),
                };
                error!(
                    "the restart is given up: worker {name}, for place {place}, {why}; {kept} workers go on, \
                     {replaced} of them were replaced before"
                );
                self.tell_last_lines(worker);
            }
            Note::OverMemory { worker, kb } => {
                warn!("worker {} takes {} MB: it is replaced", self.name(worker), kb / 1024);
            }
            Note::Stopping { workers } => info!("stopping {workers} workers"),
            Note::Quiet => info!("quiet: no further jobs are taken"),
            Note::NoOneRecovers { identity } => warn!(
                "no worker is left to recover the jobs of {identity}: others do when it has been silent for long"
            ),
        }
    }

    fn name(&self, id: WorkerId) -> String {
        self.pids.get(&id).map_or_else(|| "(not started)".to_owned(), u32::to_string)
    }

    fn how(&self, id: WorkerId) -> String {
        let ended = self.ended.as_ref().filter(|(ended, ..)| *ended == id);
        ended.map_or_else(|| "not started".to_owned(), |(_, status, _)| status.to_string())
    }

    fn tell_last_lines(&self, id: WorkerId) {
        let name = self.name(id);
        let ended = self.ended.iter().filter(|(ended, ..)| *ended == id);
        for line in ended.flat_map(|(.., lines)| lines) {
            error!("worker {name} wrote last: {line}");
        }
    }
}
