//! One scrape's numbers, written as metrics.

use std::fmt;

use cogworker_core::formats::DURATION_BOUNDS;
use cogworker_core::time::EpochSeconds;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Snapshot;

#[derive(Debug)]
pub(super) struct Numbers {
    /// `None` when Redis could not be read.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) at: EpochSeconds,
}

impl Collector for Numbers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let up = u64::from(self.snapshot.is_some());
        gauge(&mut encoder, "up", "1 when Redis could be read for this scrape", up as f64)?;
        let Some(snapshot) = &self.snapshot else { return Ok(()) };
        let stats = &snapshot.stats;
        for (name, help, value) in [
            ("processed", "Successful runs, ever", stats.processed),
            ("failed", "Failed runs, ever", stats.failed),
        ] {
            // A key of the wrong type has no number, and a zero would be a lie.
            let Some(value) = value else { continue };
            let name = named(name);
            let metric = encoder.encode_descriptor(&name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        for (name, help, value) in [
            ("retry_size", "Failed jobs that will be tried again", stats.retrying),
            ("scheduled_size", "Jobs that are due later", stats.scheduled),
            ("dead_size", "Jobs that failed for good", stats.dead),
            ("enqueued_size", "Jobs waiting on all queues", Some(stats.enqueued)),
            ("busy_workers", "Jobs that run now", Some(sum(snapshot, |state| state.running))),
            ("worker_slots", "Jobs that could run at once", Some(sum(snapshot, slots))),
            ("processes", "Live worker processes", Some(snapshot.processes.len() as u64)),
            ("quiet_processes", "Live worker processes that take no new jobs", Some(quiet(snapshot))),
        ] {
            if let Some(value) = value {
                gauge(&mut encoder, name, help, value as f64)?;
            }
        }
        queues(&mut encoder, snapshot)?;
        durations(&mut encoder, snapshot)?;
        processes(&mut encoder, snapshot, self.at)?;
        let late = snapshot.scheduled_lateness.as_secs_f64();
        gauge(
            &mut encoder,
            "scheduled_lateness_seconds",
            "How late the scheduled job is that is due first",
            late,
        )?;
        let took = snapshot.round_trip.as_secs_f64();
        gauge(&mut encoder, "redis_round_trip_seconds", "How long Redis took to answer", took)
    }
}

fn named(name: &str) -> String {
    format!("cogworker_{name}")
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let name = named(name);
    let metric = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(metric)
}

fn family<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &'static str,
    values: impl Iterator<Item = (&'a str, f64)>,
) -> fmt::Result {
    let name = named(name);
    let mut family = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
    for (name, value) in values {
        ConstGauge::new(value).encode(family.encode_family(&[(label, name)])?)?;
    }
    Ok(())
}

/// Only where workers keep a history.
fn durations(encoder: &mut DescriptorEncoder<'_>, snapshot: &Snapshot) -> fmt::Result {
    if snapshot.durations.is_empty() {
        return Ok(());
    }
    let name = named("run_duration_seconds");
    let help = "How long runs took, successful and failed ones";
    let mut family = encoder.encode_descriptor(&name, help, None, MetricType::Histogram)?;
    for (class, durations) in &snapshot.durations {
        let bounds = DURATION_BOUNDS.iter().copied().chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(durations.counts().iter().copied()).collect();
        let label = [("class", class.as_str())];
        let mut metric = family.encode_family(&label)?;
        metric.encode_histogram::<NoLabelSet>(
            durations.sum.as_secs_f64(),
            durations.total(),
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn queues(encoder: &mut DescriptorEncoder<'_>, snapshot: &Snapshot) -> fmt::Result {
    let readable = || snapshot.queues.iter().filter_map(|queue| Some((queue, queue.size?)));
    let sizes = readable().map(|(queue, size)| (queue.name.as_str(), size as f64));
    family(encoder, "queue_size", "Jobs waiting on a queue", "queue", sizes)?;
    let latencies = || readable().map(|(queue, _)| (queue.name.as_str(), queue.latency.as_secs_f64()));
    let help = "How long the job that is taken next has waited, in seconds";
    family(encoder, "queue_latency_seconds", help, "queue", latencies())?;
    let paused = readable().map(|(queue, _)| (queue.name.as_str(), f64::from(u8::from(queue.paused))));
    family(encoder, "queue_paused", "1 when no job is taken from a queue", "queue", paused)?;
    let oldest = latencies().map(|(_, latency)| latency).fold(0.0, f64::max);
    gauge(encoder, "oldest_job_age_seconds", "How long the job has waited that waits longest of all", oldest)
}

fn processes(encoder: &mut DescriptorEncoder<'_>, snapshot: &Snapshot, now: EpochSeconds) -> fmt::Result {
    let states = || snapshot.processes.iter();
    let memory = states().filter_map(|state| {
        Some((state.process.identity.as_str(), state.process.info.rss_kb? as f64 * 1024.0))
    });
    family(encoder, "process_memory_bytes", "Resident memory of a worker process", "process", memory)?;
    let busy = states().map(|state| (state.process.identity.as_str(), state.running as f64));
    family(encoder, "process_busy", "Jobs that a worker process runs now", "process", busy)?;
    let uptime = states().map(|state| {
        (state.process.identity.as_str(), now.since(state.process.info.started_at).as_secs_f64())
    });
    family(encoder, "process_uptime_seconds", "How long a worker process has been running", "process", uptime)
}

fn sum(snapshot: &Snapshot, of: impl Fn(&cogworker_client::ProcessState) -> u64) -> u64 {
    snapshot.processes.iter().map(of).sum()
}

fn slots(state: &cogworker_client::ProcessState) -> u64 {
    state.process.info.concurrency as u64
}

fn quiet(snapshot: &Snapshot) -> u64 {
    snapshot.processes.iter().filter(|state| state.process.quiet).count() as u64
}
