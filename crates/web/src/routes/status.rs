//! The header's pill: who is there, and how busy (WEBW-09).

use askama::Template;
use cogworker_client::ProcessState;

use crate::Ui;
use crate::display;

/// All processes in a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterStatus {
    pub(crate) processes: usize,
    /// Those that take jobs.
    pub(crate) active: usize,
    pub(crate) slots: u64,
    pub(crate) running: u64,
}

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPart<'a> {
    ui: &'a Ui,
    status: &'a ClusterStatus,
}

impl ClusterStatus {
    pub(crate) fn new(processes: &[ProcessState]) -> Self {
        Self {
            processes: processes.len(),
            active: processes.iter().filter(|state| !state.process.quiet).count(),
            slots: processes.iter().map(|state| state.process.info.concurrency as u64).sum(),
            running: processes.iter().map(|state| state.running).sum(),
        }
    }

    pub(crate) fn html(&self, ui: &Ui) -> String {
        StatusPart { ui, status: self }.render().unwrap_or_default()
    }

    fn workers(&self) -> String {
        display::counted(self.processes as u64, "worker", "workers")
    }

    /// Muted when nobody takes jobs.
    fn dot(&self) -> &'static str {
        if self.active > 0 { "dot dot--ring" } else { "dot dot--off" }
    }
}
