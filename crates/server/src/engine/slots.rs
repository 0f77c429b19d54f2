//! The job slots of a process: what runs in each.

use std::time::{Duration, Instant};

use cogworker_core::formats::work_json;
use cogworker_core::jid::random_hex;
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;
use tokio::task::AbortHandle;

use super::claim::Claim;
use crate::run::Run;

/// Jobs shorter than this are never shown in Redis; longer ones are, within 250 ms.
const SHOWN_AFTER: Duration = Duration::from_millis(100);

/// Names one run; slots are used again, runs are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RunId {
    slot: usize,
    number: u64,
}

/// A job in a slot.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) claim: Claim,
    pub(crate) class: usize,
    since: Instant,
    pub(crate) run_at: EpochSeconds,
    number: u64,
    abort: Option<AbortHandle>,
    aborted: bool,
    /// Its job is not ours any more: nothing is written for it.
    pub(crate) lost: bool,
    pub(crate) run: Run,
}

struct Slot {
    /// 12 hex characters, as others see it.
    name: String,
    running: Option<Running>,
    shown: Shown,
}

/// What Redis shows in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// The run of this number.
    Run(u64),
    /// A write of it failed, and may have been carried out.
    Unknown,
}

/// Changes in what others see of the slots.
#[derive(Debug, Default)]
pub(crate) struct BoardChanges {
    /// Slots to show, each with its work.
    pub(crate) show: Vec<(String, Vec<u8>)>,
    /// Slots to clear.
    pub(crate) clear: Vec<String>,
    /// The runs that are shown for the first time.
    pub(crate) begun: Vec<Run>,
}

pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
    runs: u64,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let slot = |_| Slot { name: random_hex(6), running: None, shown: Shown::Nothing };
        Self { slots: (0..count).map(slot).collect(), free: (0..count).rev().collect(), runs: 0 }
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn busy(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Puts a job into a free slot, if there is one.
    pub(crate) fn occupy(&mut self, claim: Claim, class: usize, run: Run) -> Option<RunId> {
        let slot = self.free.pop()?;
        self.runs += 1;
        self.slots[slot].running = Some(Running {
            claim,
            class,
            since: Instant::now(),
            run_at: EpochSeconds::now(),
            number: self.runs,
            abort: None,
            aborted: false,
            lost: false,
            run,
        });
        Some(RunId { slot, number: self.runs })
    }

    /// How to stop the run's task.
    pub(crate) fn set_abort(&mut self, run: RunId, abort: AbortHandle) {
        if let Some(running) = self.slots[run.slot].running.as_mut().filter(|it| it.number == run.number) {
            running.abort = Some(abort);
        }
    }

    /// Frees the run's slot. `None` when the run is over already.
    pub(crate) fn release(&mut self, run: RunId) -> Option<Running> {
        let slot = &mut self.slots[run.slot];
        let running = slot.running.take_if(|running| running.number == run.number)?;
        self.free.push(run.slot);
        Some(running)
    }

    /// Asks every run to end.
    pub(crate) fn cancel_all(&self) {
        for running in self.running() {
            running.run.token().cancel();
        }
    }

    /// Notes that a run's job is not ours any more, and asks it to end; its jid.
    pub(crate) fn lose(&mut self, run: RunId) -> Option<String> {
        let running = self.slots[run.slot].running.as_mut().filter(|it| it.number == run.number)?;
        running.lost = true;
        running.run.token().cancel();
        Some(RawJob::parse(&running.claim.raw).map(|job| job.jid().to_owned()).unwrap_or_default())
    }

    /// Stops every task that can be stopped.
    pub(crate) fn abort_all(&mut self) {
        for running in self.slots.iter_mut().filter_map(|slot| slot.running.as_mut()) {
            if let Some(abort) = running.abort.as_ref().filter(|_| !running.run.is_blocking()) {
                abort.abort();
                running.aborted = true;
            }
        }
    }

    /// True while a task that was stopped has a slot.
    pub(crate) fn any_aborted(&self) -> bool {
        self.running().any(|running| running.aborted)
    }

    /// True when no task that was stopped is still at work. Blocking runs have none.
    pub(crate) fn tasks_are_gone(&self) -> bool {
        let gone = |it: &Running| it.abort.as_ref().is_none_or(AbortHandle::is_finished);
        self.running().all(|running| running.run.is_blocking() || gone(running))
    }

    /// Empties all slots; the youngest run comes first, so that the oldest, given back last, is
    /// the next to be taken (REQ-01).
    pub(crate) fn take_all(&mut self) -> Vec<(RunId, Running)> {
        self.take_where(|_| true)
    }

    /// Empties the slots of stopped tasks, youngest first.
    pub(crate) fn take_stopped(&mut self) -> Vec<(RunId, Running)> {
        self.take_where(|it| it.aborted && it.abort.as_ref().is_some_and(AbortHandle::is_finished))
    }

    fn take_where(&mut self, chosen: impl Fn(&Running) -> bool) -> Vec<(RunId, Running)> {
        let mut taken = Vec::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Some(running) = slot.running.take_if(|running| chosen(running)) {
                self.free.push(index);
                taken.push((RunId { slot: index, number: running.number }, running));
            }
        }
        taken.sort_unstable_by_key(|(run, _)| std::cmp::Reverse(run.number));
        taken
    }

    /// Every run with its id.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (RunId, &Running)> {
        self.slots.iter().enumerate().filter_map(|(slot, it)| {
            let running = it.running.as_ref()?;
            Some((RunId { slot, number: running.number }, running))
        })
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Running> {
        self.slots.iter().filter_map(|slot| slot.running.as_ref())
    }

    /// What changed since the last call in what others should see (PROC-02).
    pub(crate) fn board_changes(&mut self) -> BoardChanges {
        let BoardChanges { mut show, mut clear, mut begun } = BoardChanges::default();
        for slot in &mut self.slots {
            let due = slot.running.as_ref().filter(|running| running.since.elapsed() >= SHOWN_AFTER);
            match (due, slot.shown) {
                (Some(running), shown) if shown != Shown::Run(running.number) => {
                    let work = work_json(&running.claim.queue, &running.claim.raw, running.run_at);
                    show.push((slot.name.clone(), work));
                    begun.push(running.run.clone());
                    slot.shown = Shown::Run(running.number);
                }
                (None, Shown::Run(_) | Shown::Unknown) => {
                    clear.push(slot.name.clone());
                    slot.shown = Shown::Nothing;
                }
                _ => {}
            }
        }
        BoardChanges { show, clear, begun }
    }

    /// The last changes may not have been written: every slot is shown or cleared anew.
    pub(crate) fn doubt_board(&mut self) {
        for slot in &mut self.slots {
            slot.shown = Shown::Unknown;
        }
    }

    /// True while Redis shows something of this process or should soon.
    pub(crate) fn board_is_live(&self) -> bool {
        self.busy() > 0 || self.slots.iter().any(|slot| slot.shown != Shown::Nothing)
    }
}

impl Running {
    /// How long it has been running.
    pub(crate) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }
}
