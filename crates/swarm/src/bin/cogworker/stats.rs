//! `cogworker stats`.

use cogworker_client::Client;
use cogworker_core::time::EpochSeconds;
use serde::Serialize;

use crate::exit::{Outcome, While};
use crate::output::Output;
use crate::text;

/// Counters and sizes of one moment. A key of the wrong type reads as `None`.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    time: EpochSeconds,
    pub(crate) processed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) processes: usize,
    pub(crate) busy: u64,
    pub(crate) enqueued: u64,
    pub(crate) scheduled: Option<u64>,
    pub(crate) retrying: Option<u64>,
    pub(crate) dead: Option<u64>,
    /// How long the job has waited that has waited longest, s.
    pub(crate) latency: f64,
}

impl Stats {
    pub(crate) async fn read(client: &Client) -> Result<Self, cogworker_core::redis::RedisError> {
        let (stats, queues, processes) =
            (client.stats().await?, client.queues().await?, client.processes().await?);
        Ok(Self {
            time: EpochSeconds::now(),
            processed: stats.processed,
            failed: stats.failed,
            processes: processes.len(),
            busy: processes.iter().map(|process| process.busy).sum(),
            enqueued: stats.enqueued,
            scheduled: stats.scheduled,
            retrying: stats.retrying,
            dead: stats.dead,
            latency: queues.iter().map(|queue| queue.latency.as_secs_f64()).fold(0.0, f64::max),
        })
    }

    /// Each with its title, as people read it.
    fn lines(&self) -> [(&'static str, String); 9] {
        let optional = |number: Option<u64>| number.map_or("wrong type".to_owned(), text::number);
        let latency = std::time::Duration::try_from_secs_f64(self.latency).unwrap_or_default();
        [
            ("processed", optional(self.processed)),
            ("failed", optional(self.failed)),
            ("processes", text::number(self.processes as u64)),
            ("busy", text::number(self.busy)),
            ("enqueued", text::number(self.enqueued)),
            ("scheduled", optional(self.scheduled)),
            ("retrying", optional(self.retrying)),
            ("dead", optional(self.dead)),
            ("latency", text::duration(latency)),
        ]
    }
}

pub(crate) async fn run(client: &Client, output: &mut Output) -> Outcome {
    let stats = Stats::read(client).await.doing("read the counters")?;
    if output.json {
        return Ok(output.record(&stats)?);
    }
    let lines = stats.lines();
    let width = lines.iter().map(|(_, value)| text::width(value)).max().unwrap_or(0);
    for (title, value) in lines {
        output.line(&format!("{title:<9}  {value:>width$}"))?;
    }
    Ok(())
}
