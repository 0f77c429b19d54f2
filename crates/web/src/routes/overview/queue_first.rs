//! Layout B: the queues at the left, and one of them with its jobs.

use askama::Template;
use bytes::Bytes;
use cogworker_client::{EntryRef, QueueInfo};
use cogworker_core::raw_job::RawJob;
use cogworker_core::time::EpochSeconds;

use super::OverviewQuery;
use crate::Ui;
use crate::display;
use crate::error::WebError;
use crate::markup::Markup;
use crate::pager::Pager;
use crate::view::view;

/// Jobs on a page.
const PER_PAGE: usize = 25;
const SHORT_ARGS: usize = 160;

#[derive(Template)]
#[template(path = "overview_queue.html", blocks = ["live"])]
pub(super) struct QueueFirst {
    ui: Ui,
    here: String,
    queues: Vec<QueueLink>,
    selected: Option<Selected>,
}

view!(QueueFirst, Overview);

struct QueueLink {
    name: String,
    size: Option<u64>,
    since: Option<EpochSeconds>,
    is_slow: bool,
    percent: u32,
    paused: bool,
    is_selected: bool,
}

struct Selected {
    name: String,
    paused: bool,
    size: Option<u64>,
    /// When its jobs were counted.
    counted_at: EpochSeconds,
    /// When its failed ones were.
    failures_at: EpochSeconds,
    running: u64,
    retrying: u64,
    dead: u64,
    jobs: Vec<JobRow>,
    pager: Pager,
}

struct JobRow {
    jid: String,
    class: String,
    args: String,
    enqueued_at: Option<EpochSeconds>,
    is_job: bool,
    /// Names it in a form, without telling what is in it.
    entry: EntryRef,
}

impl QueueLink {
    fn bar_class(&self) -> &'static str {
        if self.is_slow { "bar--warn" } else { "" }
    }
}

impl Selected {
    fn waiting(&self) -> String {
        display::counted(self.size.unwrap_or(0), "job", "jobs")
    }

    fn has_jobs(&self) -> bool {
        self.size.unwrap_or(0) > 0
    }

    fn retry_all(&self) -> String {
        format!("Retry all {}", display::number(self.retrying))
    }

    fn delete_all(&self) -> String {
        format!("Delete all {}…", display::number(self.size.unwrap_or(0)))
    }

    /// What each form of this queue says.
    fn fields(&self) -> Markup {
        let mut fields = Markup::raw("<input type=\"hidden\" name=\"queue\" value=\"");
        fields.text(&self.name);
        fields.ending("\"><input type=\"hidden\" name=\"layout\" value=\"b\">")
    }
}

impl JobRow {
    fn new(ui: &Ui, raw: &Bytes, place: usize) -> Self {
        let entry = EntryRef::new(raw, place as u64, None);
        match RawJob::parse(raw) {
            Ok(job) => Self {
                jid: job.jid().to_owned(),
                class: job.class().to_owned(),
                args: display::shortened(&ui.args(job.class(), job.args_json()), SHORT_ARGS),
                enqueued_at: job.enqueued_at(),
                is_job: true,
                entry,
            },
            Err(_) => Self {
                jid: String::new(),
                class: "(unparseable)".to_owned(),
                args: display::shortened(&ui.stray(raw), SHORT_ARGS),
                enqueued_at: None,
                is_job: false,
                entry,
            },
        }
    }
}

pub(super) async fn load(ui: &Ui, query: &OverviewQuery) -> Result<QueueFirst, WebError> {
    let queues = ui.client().queues().await?;
    let wanted = query.queue.clone().filter(|queue| !queue.is_empty());
    let name = wanted.or_else(|| queues.first().map(|queue| queue.name.clone()));
    let slowest = queues.iter().map(|queue| queue.latency).max().unwrap_or_default().as_secs_f64();
    let link = |queue: &QueueInfo| {
        let latency = queue.latency.as_secs_f64();
        QueueLink {
            size: queue.size,
            since: (latency > 0.0).then(|| EpochSeconds::new(ui.now.as_f64() - latency)),
            is_slow: queue.latency > ui.shared.options.latency_threshold,
            percent: if slowest > 0.0 { (latency / slowest * 100.0).round() as u32 } else { 0 },
            paused: queue.paused,
            is_selected: Some(&queue.name) == name.as_ref(),
            name: queue.name.clone(),
        }
    };
    let selected = match &name {
        Some(name) => Some(select(ui, name, query).await?),
        None => None,
    };
    let page = selected.as_ref().filter(|selected| !selected.pager.is_first());
    let here = OverviewQuery { layout: Some("b".into()), queue: name.clone(), ..Default::default() }.href(ui);
    let here = page.map_or(here, |selected| selected.pager.here());
    Ok(QueueFirst { here, queues: queues.iter().map(link).collect(), selected, ui: ui.clone() })
}

async fn select(ui: &Ui, name: &str, query: &OverviewQuery) -> Result<Selected, WebError> {
    let client = ui.client();
    let counted_at = EpochSeconds::now();
    let queue = client.queue(name);
    let (info, running, census) =
        tokio::join!(queue.info(), client.running_jobs(), ui.shared.failures.get(client));
    let (info, running) = (info?, running?);
    let census = census.unwrap_or_default();
    let failed = census.queues.get(name).copied().unwrap_or_default();
    let href =
        OverviewQuery { layout: Some("b".into()), queue: Some(name.into()), ..Default::default() }.href(ui);
    let pager = Pager::new(query.page.as_deref(), PER_PAGE, info.size.unwrap_or(0), href);
    let jobs = match info.size {
        Some(_) => queue.page(pager.skip() as u64, PER_PAGE as u64).await?.entries,
        None => Vec::new(),
    };
    Ok(Selected {
        name: name.to_owned(),
        paused: info.paused,
        size: info.size,
        counted_at,
        failures_at: ui.shared.failures.began_at(&census),
        running: running.iter().filter(|job| job.work.queue == name).count() as u64,
        retrying: failed.retrying,
        dead: failed.dead,
        jobs: jobs.iter().zip(pager.skip()..).map(|(raw, place)| JobRow::new(ui, raw, place)).collect(),
        pager,
    })
}
