//! What needs a person, the worst first: rules over data that is there, and nothing else.

use cogworker_client::failures::{FailureCensus, FailureCounts};
use cogworker_client::{ProcessState, QueueInfo};
use cogworker_core::time::EpochSeconds;

use crate::Ui;
use crate::display;
use crate::markup::Markup;
use crate::schedule_runs::LastRuns;

/// So many are shown at once, the others when somebody opens them.
const SHOWN: usize = 4;
/// A group of errors is new for so long.
const NEW_FOR: f64 = 3600.0;

/// One thing to look at.
pub(super) struct Attention {
    pub(super) is_bad: bool,
    pub(super) icon: &'static str,
    pub(super) what: Markup,
    pub(super) why: Markup,
    pub(super) next: Next,
}

/// What to do about it.
pub(super) enum Next {
    Link { label: String, href: String },
    Resume { queue: String },
}

pub(super) struct Attentions {
    pub(super) shown: Vec<Attention>,
    /// Those that are less urgent.
    pub(super) more: Vec<Attention>,
}

impl Attentions {
    pub(super) fn total(&self) -> usize {
        self.shown.len() + self.more.len()
    }
}

pub(super) fn find(
    ui: &Ui,
    queues: &[QueueInfo],
    processes: &[ProcessState],
    failures: &FailureCensus,
    schedules: &LastRuns,
) -> Attentions {
    let mut found = Vec::new();
    let is_late = |queue: &&QueueInfo| queue.latency > ui.shared.options.latency_threshold;
    let (held_up, held): (Vec<_>, Vec<_>) =
        waiting_longest_first(queues).filter(|it| it.paused).partition(is_late);
    // Where nothing moves at all comes before what moves and fails.
    unread(ui, queues, processes, &mut found);
    paused(ui, &held_up, &mut found);
    new_errors(ui, failures, &mut found);
    schedules_amiss(ui, schedules, &mut found);
    slow(ui, queues, &mut found);
    paused(ui, &held, &mut found);
    let more = found.split_off(found.len().min(SHOWN));
    Attentions { shown: found, more }
}

fn bold(text: &str) -> Markup {
    let mut markup = Markup::raw("<b>");
    markup.text(text);
    markup.ending("</b>")
}

fn link_to_queue(ui: &Ui, queue: &str) -> Next {
    Next::Link { label: "Show queue".into(), href: format!("/overview?layout=b&queue={}", ui.enc(queue)) }
}

fn new_errors(ui: &Ui, failures: &FailureCensus, found: &mut Vec<Attention>) {
    let mut new: Vec<_> = failures
        .groups
        .iter()
        .filter_map(|group| Some((group, group.first_seen?)))
        .filter(|(_, first)| ui.now.as_f64() - first.as_f64() < NEW_FOR)
        .collect();
    new.sort_by_key(|(group, _)| std::cmp::Reverse(group.counts.total()));
    for (group, first) in new {
        let classes: Vec<&str> = group.classes.iter().take(2).map(String::as_str).collect();
        let others = group.classes.len() - classes.len();
        let error =
            if group.error_class.is_empty() { "An error without a class" } else { &group.error_class };
        let mut what = bold(error);
        what.html(" in ").html(&bold(&classes.join(", ")).to_string());
        if others > 0 {
            what.text(format!(" and {}", display::counted(others as u64, "other", "others")));
        }
        let mut why = Markup::raw("is failing since ");
        why.html(&ui.time(&first).to_string()).text(". ").text(fate(group.counts)).text(".");
        found.push(Attention {
            is_bad: true,
            icon: "alert",
            what,
            why,
            next: Next::Link {
                label: format!("Show {}", display::counted(group.counts.total(), "job", "jobs")),
                href: format!(
                    "/jobs?status={}&error={}",
                    if group.counts.retrying > 0 { "Retrying" } else { "Dead" },
                    ui.enc(&group.error_class)
                ),
            },
        });
    }
}

/// `148 jobs wait for a retry, 6 are dead`.
fn fate(counts: FailureCounts) -> String {
    let retrying = format!("{} for a retry", display::counted(counts.retrying, "job waits", "jobs wait"));
    match (counts.retrying, counts.dead) {
        (_, 0) => retrying,
        (0, 1) => "1 job is dead".to_owned(),
        (0, dead) => format!("{} jobs are dead", display::number(dead)),
        (_, dead) => {
            format!("{retrying}, {} {} dead", display::number(dead), if dead == 1 { "is" } else { "are" })
        }
    }
}

/// Queues with jobs that no process reads.
fn unread(ui: &Ui, queues: &[QueueInfo], processes: &[ProcessState], found: &mut Vec<Attention>) {
    let is_read = |name: &String| processes.iter().any(|state| state.process.info.queues.contains(name));
    for queue in queues.iter().filter(|queue| queue.size.unwrap_or(0) > 0 && !is_read(&queue.name)) {
        let mut what = bold(&queue.name);
        what.html(" is read by no process.");
        let mut why = Markup::default();
        let waiting = display::counted(queue.size.unwrap_or(0), "job waits", "jobs wait");
        why.text(format!("{waiting}, the oldest for ")).html(&waiting_for(ui, queue)).text(".");
        found.push(Attention {
            is_bad: true,
            icon: "server",
            what,
            why,
            next: link_to_queue(ui, &queue.name),
        });
    }
}

fn schedules_amiss(ui: &Ui, schedules: &LastRuns, found: &mut Vec<Attention>) {
    let show = || Next::Link { label: "Show schedules".into(), href: "/schedules".into() };
    for (class, run) in &schedules.failed {
        let mut what = bold(class);
        what.html(" failed in its last run.");
        let mut why = Markup::raw("It is a schedule, and ended ");
        why.html(&ui.relative(&run.finished_at).to_string());
        if !run.error_class.is_empty() {
            why.text(" with ").text(&run.error_class);
        }
        why.text(".");
        found.push(Attention { is_bad: true, icon: "clock", what, why, next: show() });
    }
    for (class, slot) in &schedules.missed {
        let mut what = bold(class);
        what.html(" was not fired.");
        let mut why = Markup::raw("It was due ");
        why.html(&ui.relative(slot).to_string())
            .text("; a worker that has it fires the slot when it starts.");
        found.push(Attention { is_bad: true, icon: "clock", what, why, next: show() });
    }
}

fn slow(ui: &Ui, queues: &[QueueInfo], found: &mut Vec<Attention>) {
    let limit = ui.shared.options.latency_threshold;
    for queue in waiting_longest_first(queues).filter(|queue| !queue.paused && queue.latency > limit) {
        let mut what = bold(&queue.name);
        what.html(" is slow.");
        let mut why = Markup::raw("Its oldest job has waited ");
        let size = display::number(queue.size.unwrap_or(0));
        why.html(&waiting_for(ui, queue)).text(format!("; {size} enqueued."));
        found.push(Attention {
            is_bad: false,
            icon: "clock",
            what,
            why,
            next: link_to_queue(ui, &queue.name),
        });
    }
}

/// The queues in which jobs wait.
fn waiting_longest_first(queues: &[QueueInfo]) -> impl Iterator<Item = &QueueInfo> {
    let mut waiting: Vec<_> = queues.iter().filter(|queue| queue.size.unwrap_or(0) > 0).collect();
    waiting.sort_by_key(|queue| std::cmp::Reverse(queue.latency));
    waiting.into_iter()
}

fn paused(ui: &Ui, queues: &[&QueueInfo], found: &mut Vec<Attention>) {
    for queue in queues {
        let mut what = bold(&queue.name);
        what.html(" is paused.");
        let mut why = Markup::default();
        let size = display::counted(queue.size.unwrap_or(0), "job", "jobs");
        why.text(format!("{size} enqueued, the oldest for ")).html(&waiting_for(ui, queue)).text(".");
        let next = if ui.is_read_only() {
            link_to_queue(ui, &queue.name)
        } else {
            Next::Resume { queue: queue.name.clone() }
        };
        found.push(Attention { is_bad: false, icon: "pause", what, why, next });
    }
}

/// How long the oldest job of a queue has waited, counted on by the browser.
fn waiting_for(ui: &Ui, queue: &QueueInfo) -> String {
    let since = EpochSeconds::new(ui.now.as_f64() - queue.latency.as_secs_f64());
    ui.elapsed(&since).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is_is_told() {
        let told = |retrying, dead| {
            let mut counts = FailureCounts::default();
            (counts.retrying, counts.dead) = (retrying, dead);
            fate(counts)
        };
        assert_eq!(told(148, 6), "148 jobs wait for a retry, 6 are dead");
        assert_eq!(told(1, 1), "1 job waits for a retry, 1 is dead");
        assert_eq!((told(2, 0), told(0, 1)), ("2 jobs wait for a retry".into(), "1 job is dead".into()));
    }
}
