//! Workers: the processes, and what they run.

use askama::Template;
use axum::Router;
use axum::extract::RawQuery;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use cogworker_client::{Process, ProcessState, RunningJob};
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use super::ClusterStatus;
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::form::Fields;
use crate::message::Message;
use crate::orders::Order;
use crate::pager::Pager;
use crate::run_times::Usual;
use crate::view::view;

/// Running jobs on a page.
const PER_PAGE: usize = 25;
const SHORT_ARGS: usize = 160;

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/workers", get(show))
        .route("/workers/summary", get(summary))
        .route("/workers/quiet", post(quiet))
        .route("/workers/resume", post(resume))
        .route("/workers/stop", post(stop))
        .route("/workers/pause_all", post(pause_all))
        .route("/workers/resume_all", post(resume_all))
}

#[derive(Default)]
struct WorkersQuery {
    /// Only the jobs of this process.
    process: Option<String>,
    page: Option<String>,
}

#[derive(Template)]
#[template(path = "workers.html", blocks = ["live"])]
struct WorkersPage {
    ui: Ui,
    here: String,
    status: ClusterStatus,
    stopping: usize,
    processes: Vec<ProcessRow>,
    running: Vec<RunningRow>,
    pager: Pager,
    only: Option<String>,
}

view!(WorkersPage, Workers);

struct ProcessRow {
    identity: String,
    state: ProcessRowState,
    started_at: EpochSeconds,
    queues: Vec<String>,
    running: u64,
    slots: u64,
    memory: String,
    heard_of: Option<EpochSeconds>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessRowState {
    Active,
    Quiet,
    Quieting,
    Resuming,
    /// For so many seconds.
    Stopping(u64),
}

struct RunningRow {
    jid: String,
    class: String,
    args: String,
    queue: String,
    identity: String,
    slot: String,
    run_at: EpochSeconds,
    /// How long runs of this class usually take, and whether this one is far over it.
    usual: Option<(String, bool)>,
    percent: Option<u8>,
    message: String,
}

/// Cells in a picture of the slots; more would be too small to see.
const MOST_CELLS: u64 = 30;
const CELL: u64 = 7;

impl ProcessRow {
    fn new(ui: &Ui, state: &ProcessState) -> Self {
        let ProcessState { process, heard_of, running, .. } = state;
        let pending = ui.shared.orders.pending(&process.identity, process.quiet);
        Self {
            identity: process.identity.clone(),
            state: match pending {
                Some((Order::Stop, since)) => ProcessRowState::Stopping(since.as_secs()),
                Some((Order::Quiet, _)) => ProcessRowState::Quieting,
                Some((Order::Resume, _)) => ProcessRowState::Resuming,
                None if process.quiet => ProcessRowState::Quiet,
                None => ProcessRowState::Active,
            },
            started_at: process.info.started_at,
            queues: weighted(&process.info.queues),
            running: *running,
            slots: process.info.concurrency as u64,
            memory: process.info.rss_kb.map_or_else(|| "n/a".into(), display::kibibytes),
            heard_of: heard_of.map(|ago| EpochSeconds::new(ui.now.as_f64() - ago.as_secs_f64())),
        }
    }

    fn stops(&self) -> bool {
        matches!(self.state, ProcessRowState::Stopping(_))
    }

    fn takes_jobs(&self) -> bool {
        matches!(self.state, ProcessRowState::Active | ProcessRowState::Resuming)
    }

    fn jobs(&self) -> String {
        match self.running {
            0 => "what it runs".to_owned(),
            running => format!("its {}", display::counted(running, "running job", "running jobs")),
        }
    }

    /// The slots as cells: for each its place and whether it is busy.
    fn cells(&self) -> Vec<(u64, bool)> {
        let cells = self.slots.min(MOST_CELLS);
        let busy = match self.slots {
            0 => 0,
            slots => (self.running.min(slots) * cells).div_ceil(slots),
        };
        (0..cells).map(|cell| (cell * CELL, cell < busy)).collect()
    }

    fn cells_width(&self) -> u64 {
        self.slots.min(MOST_CELLS) * CELL
    }
}

impl RunningRow {
    fn new(ui: &Ui, running: &RunningJob) -> Self {
        let job = RawJob::parse(running.work.raw.get().as_bytes()).unwrap_or_default();
        let class = if job.class().is_empty() { "(unparseable)" } else { job.class() };
        Self {
            jid: job.jid().to_owned(),
            class: class.to_owned(),
            args: display::shortened(&ui.args(job.class(), job.args_json()), SHORT_ARGS),
            queue: running.work.queue.clone(),
            identity: running.identity.clone(),
            slot: running.slot.clone(),
            run_at: running.work.run_at,
            usual: None,
            percent: None,
            message: String::new(),
        }
    }
}

/// The queues, each once; those that are listed more often with their weight.
fn weighted(queues: &[String]) -> Vec<String> {
    let mut weights: Vec<(&String, usize)> = Vec::new();
    for queue in queues {
        match weights.iter_mut().find(|(known, _)| *known == queue) {
            Some((_, weight)) => *weight += 1,
            None => weights.push((queue, 1)),
        }
    }
    let shown = |(queue, weight): (&String, usize)| match weight {
        1 => queue.clone(),
        weight => format!("{queue} ×{weight}"),
    };
    weights.into_iter().map(shown).collect()
}

async fn load(ui: &Ui, query: &WorkersQuery) -> Result<WorkersPage, WebError> {
    let (processes, running) = tokio::join!(ui.client().process_states(), ui.client().running_jobs());
    let (states, mut jobs) = (processes?, running?);
    let only = query.process.as_deref().filter(|process| !process.is_empty());
    if let Some(process) = only {
        jobs.retain(|job| job.identity == process);
    }
    jobs.sort_by(|a, b| (a.work.run_at, &a.slot).cmp(&(b.work.run_at, &b.slot)));
    let here =
        only.map_or_else(|| "/workers".into(), |process| format!("/workers?process={}", ui.enc(process)));
    let pager = Pager::new(query.page.as_deref(), PER_PAGE, jobs.len() as u64, &here);
    let page = jobs.iter().skip(pager.skip()).take(PER_PAGE);
    let mut running: Vec<RunningRow> = page.map(|job| RunningRow::new(ui, job)).collect();
    progress(ui, &mut running).await?;
    usual_times(ui, &mut running).await?;
    let processes: Vec<ProcessRow> = states.iter().map(|state| ProcessRow::new(ui, state)).collect();
    let here = if pager.is_first() { here } else { pager.here() };
    Ok(WorkersPage {
        ui: ui.clone(),
        here,
        status: ClusterStatus::new(&states),
        stopping: processes.iter().filter(|row| row.stops()).count(),
        processes,
        running,
        pager,
        only: only.map(str::to_owned),
    })
}

/// What the jobs of a page say of themselves.
async fn progress(ui: &Ui, rows: &mut [RunningRow]) -> Result<(), WebError> {
    let jids: Vec<String> = rows.iter().map(|row| row.jid.clone()).collect();
    let statuses = ui.client().statuses(&jids).await?;
    for (row, status) in rows.iter_mut().zip(statuses) {
        let Some(status) = status else { continue };
        row.percent = status.pct.map(|pct| pct.clamp(0.0, 100.0).round() as u8);
        row.message = status.message.map(|text| display::shortened(&text, SHORT_ARGS)).unwrap_or_default();
    }
    Ok(())
}

/// What runs of the same classes took.
async fn usual_times(ui: &Ui, rows: &mut [RunningRow]) -> Result<(), WebError> {
    if rows.is_empty() {
        return Ok(());
    }
    let times = ui.shared.run_times.get(ui.client()).await?;
    for row in rows {
        let usual = times.get(&row.class).and_then(Usual::of);
        row.usual = usual.map(|usual| {
            let is_far_over = usual.is_exceeded_by(ui.now.since(row.run_at));
            (usual.time, is_far_over)
        });
    }
    Ok(())
}

async fn show(ui: Ui, RawQuery(query): RawQuery) -> Result<Response, WebError> {
    let fields = Fields::of_query(query);
    let query = WorkersQuery { process: fields.owned("process"), page: fields.owned("page") };
    ui.show(&load(&ui, &query).await?).await
}

async fn summary(ui: Ui) -> Result<Response, WebError> {
    let status = ClusterStatus::new(&ui.client().process_states().await?);
    ui.part(status.html(&ui))
}

async fn quiet(ui: Ui, body: Bytes) -> Result<Response, WebError> {
    order(&ui, &Fields::from(body), Order::Quiet).await
}

async fn resume(ui: Ui, body: Bytes) -> Result<Response, WebError> {
    order(&ui, &Fields::from(body), Order::Resume).await
}

async fn stop(ui: Ui, body: Bytes) -> Result<Response, WebError> {
    order(&ui, &Fields::from(body), Order::Stop).await
}

async fn order(ui: &Ui, fields: &Fields, order: Order) -> Result<Response, WebError> {
    let identity = fields.get("identity").unwrap_or_default();
    let processes = ui.client().processes().await?;
    let process = processes.iter().find(|process| process.identity == identity);
    let message = match process {
        None => Message::warn("That process is not there any more").detail("Nothing was sent."),
        Some(process) => {
            send(ui, process, order).await?;
            match order {
                Order::Quiet => Message::ok("Asked to take no new jobs")
                    .detail(format!("{identity} finishes what it runs; it says so within seconds.")),
                Order::Resume => Message::ok("Asked to take jobs again")
                    .detail(format!("{identity} says so within seconds.")),
                Order::Stop => Message::ok("Asked to stop")
                    .detail(format!("{identity} finishes its jobs, gives back what is left, and exits.")),
            }
        }
    };
    ui.done(message, "/workers", load(ui, &WorkersQuery::default())).await
}

async fn send(ui: &Ui, process: &Process, order: Order) -> Result<(), WebError> {
    let action = match order {
        Order::Quiet => {
            process.quiet().await?;
            "quiet process"
        }
        Order::Resume => {
            process.resume().await?;
            "resume process"
        }
        Order::Stop => {
            process.stop().await?;
            "stop process"
        }
    };
    ui.shared.orders.note(&process.identity, order);
    ui.log_action(action, &process.identity);
    Ok(())
}

async fn pause_all(ui: Ui) -> Result<Response, WebError> {
    order_all(&ui, Order::Quiet).await
}

async fn resume_all(ui: Ui) -> Result<Response, WebError> {
    order_all(&ui, Order::Resume).await
}

async fn order_all(ui: &Ui, order: Order) -> Result<Response, WebError> {
    let processes = ui.client().processes().await?;
    for process in &processes {
        send(ui, process, order).await?;
    }
    let count = display::counted(processes.len() as u64, "process", "processes");
    let message = match (processes.is_empty(), order) {
        (true, _) => Message::warn("No process is running").detail("Nothing was sent."),
        (false, Order::Resume) => {
            Message::ok("Intake resumed").detail(format!("{count} asked to take jobs again."))
        }
        _ => Message::ok("Intake paused")
            .detail(format!("{count} asked to take no new jobs; running ones go on.")),
    };
    if !ui.is_fragment() {
        return Ok(ui.redirect("/workers", Some(&message)));
    }
    let status = ClusterStatus::new(&ui.client().process_states().await?);
    Ok(Html(ui.with_toast(status.html(ui), &message)?).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_written_once() {
        let queues = ["default", "low", "default", "default"].map(String::from);
        assert_eq!(weighted(&queues), ["default ×3", "low"]);
    }
}
