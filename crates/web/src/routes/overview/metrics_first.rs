//! Layout A: what needs a person, the totals, the queues, the charts, Redis.

use askama::Template;
use cogworker_client::{QueueInfo, RunningJob, Stats};
use cogworker_core::time::EpochSeconds;

use super::attention::{self, Attentions, Next};
use super::charts::{self, Bucket};
use super::{OverviewQuery, redis};
use crate::Ui;
use crate::days_back::DaysBack;
use crate::display;
use crate::error::WebError;
use crate::routes::ClusterStatus;
use crate::view::view;

#[derive(Template)]
#[template(path = "overview.html", blocks = ["live"])]
pub(super) struct MetricsFirst {
    ui: Ui,
    attentions: Attentions,
    metrics: Vec<Metric>,
    queues: Vec<QueueRow>,
    status: ClusterStatus,
    period: DaysBack,
    hours: Vec<Bucket>,
    days: Vec<Bucket>,
    redis: String,
    census_is_complete: bool,
}

view!(MetricsFirst, Overview, ["chart.umd.min.js", "charts.js"]);

/// One of the seven numbers.
struct Metric {
    label: &'static str,
    value: String,
    /// What is said below it; HTML, since it may count on.
    note: String,
    href: &'static str,
    class: &'static str,
}

struct QueueRow {
    name: String,
    size: Option<u64>,
    since: Option<EpochSeconds>,
    is_slow: bool,
    /// Of the slowest.
    percent: u32,
    running: u64,
    retrying: u64,
    dead: u64,
    paused: bool,
}

impl QueueRow {
    fn bar_class(&self) -> &'static str {
        if self.is_slow { "bar--warn" } else { "" }
    }
}

impl MetricsFirst {
    fn summary(&self) -> String {
        let lead = match (self.status.active, self.status.running) {
            (0, _) => "Nothing takes work",
            (_, 0) => "Work is taken, none is running",
            _ => "Work is flowing",
        };
        match self.attentions.total() {
            0 => format!("{lead}."),
            1 => format!("{lead}, with 1 thing to look at."),
            many => format!("{lead}, with {many} things to look at."),
        }
    }

    fn all_clear(&self) -> String {
        if self.queues.is_empty() && self.status.processes == 0 {
            return "There is no queue yet, and no process that would take jobs.".to_owned();
        }
        let queues = display::counted(self.queues.len() as u64, "queue", "queues");
        let limit = display::whole(self.ui.shared.options.latency_threshold.as_secs());
        format!(
            "No job of {queues} has waited {limit}, no error began in the last hour, {} of {} take work.",
            display::number(self.status.active as u64),
            display::counted(self.status.processes as u64, "process", "processes")
        )
    }

    fn sums(&self, buckets: &[Bucket]) -> (String, String) {
        let (good, failed) = charts::sums(buckets);
        (display::number(good), display::number(failed))
    }
}

pub(super) async fn load(ui: &Ui, query: &OverviewQuery) -> Result<MetricsFirst, WebError> {
    let client = ui.client();
    let period = DaysBack::from_name(query.period.as_deref());
    let (stats, queues, processes, running, census, schedules) = tokio::join!(
        client.stats(),
        client.queues(),
        client.process_states(),
        client.running_jobs(),
        ui.shared.failures.get(client),
        ui.shared.schedule_runs.get(client),
    );
    let (queues, processes, running) = (queues?, processes?, running?);
    // What is damaged is shown where it is; the rest of the page has its numbers.
    let census = census.unwrap_or_default();
    let stats = stats?;
    let next = next_times(ui).await;
    let hours = charts::hours(ui).await?;
    let (days, redis) = if ui.is_fragment() {
        (Vec::new(), String::new())
    } else {
        (charts::days(ui, period).await?, redis::load(ui).await?.html()?)
    };
    let status = ClusterStatus::new(&processes);
    Ok(MetricsFirst {
        attentions: attention::find(ui, &queues, &processes, &census, &schedules.unwrap_or_default()),
        metrics: metrics(ui, &stats, &queues, &status, &next, hours.last()),
        queues: rows(ui, &queues, &running, &census),
        status,
        period,
        hours,
        days,
        redis,
        census_is_complete: census.is_complete,
        ui: ui.clone(),
    })
}

/// The first of what is due, and the newest dead; `None` where there is none, or it cannot be read.
struct NextTimes {
    scheduled: Option<EpochSeconds>,
    retrying: Option<EpochSeconds>,
    dead: Option<EpochSeconds>,
}

async fn next_times(ui: &Ui) -> NextTimes {
    let client = ui.client();
    let (schedule, retries, dead) = (client.schedule(), client.retries(), client.dead());
    let (scheduled, retrying, dead) = tokio::join!(schedule.page(0, 1), retries.page(0, 1), dead.page(0, 1));
    let first = |page: Result<cogworker_client::Page<cogworker_client::Entry>, _>| {
        page.ok().and_then(|page| page.entries.first().map(|entry| entry.score))
    };
    NextTimes { scheduled: first(scheduled), retrying: first(retrying), dead: first(dead) }
}

fn metrics(
    ui: &Ui,
    stats: &Stats,
    queues: &[QueueInfo],
    status: &ClusterStatus,
    next: &NextTimes,
    hour: Option<&Bucket>,
) -> Vec<Metric> {
    let shown = |value: Option<u64>| value.map_or_else(|| "n/a".to_owned(), display::number);
    let timed = |text: &str, at: Option<EpochSeconds>, otherwise: &str| match at {
        // What should have been moved by now is not "next".
        Some(at) if text == "next" => ui.due(&at, "next ").to_string(),
        Some(at) => format!("{text} {}", ui.relative(&at)),
        None => otherwise.to_owned(),
    };
    let oldest = queues.iter().filter(|queue| queue.size.unwrap_or(0) > 0).map(|queue| queue.latency).max();
    let oldest = oldest.map(|latency| EpochSeconds::new(ui.now.as_f64() - latency.as_secs_f64()));
    let this_hour = |count: Option<u64>| format!("{} this hour", display::number(count.unwrap_or(0)));
    let some = |count: Option<u64>, class: &'static str| if count.unwrap_or(0) > 0 { class } else { "" };
    vec![
        Metric {
            label: "Enqueued",
            value: display::number(stats.enqueued),
            note: oldest.map_or("none waits".into(), |since| format!("oldest waits {}", ui.elapsed(&since))),
            href: "/jobs?status=Enqueued",
            class: "",
        },
        Metric {
            label: "Running",
            value: display::number(status.running),
            note: format!("of {}", display::counted(status.slots, "slot", "slots")),
            href: "/workers",
            class: "",
        },
        Metric {
            label: "Scheduled",
            value: shown(stats.scheduled),
            note: timed("next", next.scheduled, "none is due"),
            href: "/jobs?status=Scheduled",
            class: "",
        },
        Metric {
            label: "Retrying",
            value: shown(stats.retrying),
            note: timed("next", next.retrying, "none is due"),
            href: "/jobs?status=Retrying",
            class: some(stats.retrying, " metric--warn"),
        },
        Metric {
            label: "Dead",
            value: shown(stats.dead),
            note: timed("newest", next.dead, "none"),
            href: "/jobs?status=Dead",
            class: some(stats.dead, " metric--bad"),
        },
        Metric {
            label: "Processed",
            value: shown(stats.processed),
            note: this_hour(hour.map(|hour| hour.good)),
            href: "/history",
            class: "",
        },
        Metric {
            label: "Failed",
            value: shown(stats.failed),
            note: this_hour(hour.map(|hour| hour.failed)),
            href: "/history?status=failed",
            class: "",
        },
    ]
}

fn rows(
    ui: &Ui,
    queues: &[QueueInfo],
    running: &[RunningJob],
    census: &cogworker_client::failures::FailureCensus,
) -> Vec<QueueRow> {
    let slowest = queues.iter().map(|queue| queue.latency).max().unwrap_or_default().as_secs_f64();
    let row = |queue: &QueueInfo| {
        let failed = census.queues.get(&queue.name).copied().unwrap_or_default();
        let latency = queue.latency.as_secs_f64();
        QueueRow {
            name: queue.name.clone(),
            size: queue.size,
            since: (latency > 0.0).then(|| EpochSeconds::new(ui.now.as_f64() - latency)),
            is_slow: queue.latency > ui.shared.options.latency_threshold,
            percent: if slowest > 0.0 { (latency / slowest * 100.0).round() as u32 } else { 0 },
            running: running.iter().filter(|job| job.work.queue == queue.name).count() as u64,
            retrying: failed.retrying,
            dead: failed.dead,
            paused: queue.paused,
        }
    };
    queues.iter().map(row).collect()
}
