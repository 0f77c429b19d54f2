use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use apalis::prelude::{
    BackendExt, BoxDynError, Data, ParallelizeExt, TaskBuilder, TaskSink, WorkerBuilder, WorkerBuilderExt,
    WorkerError,
};
use futures::Stream;
use futures::future::select_all;
use peer::{JobArgs, Meter, Mode, Options, Outcome, Workload, args};

use crate::{POLL_INTERVAL, Storage};

async fn perform((_, number, _): JobArgs, meter: Data<Arc<Meter>>) -> Result<(), BoxDynError> {
    Ok(meter.perform(number).await?)
}

/// Measures with one worker for each queue; a worker that ends by itself ends the measurement.
pub(crate) async fn run(options: &Options, mut storages: Vec<Storage>) -> Outcome {
    let meter = Meter::new(options)?;
    peer::ready();
    let begun = Instant::now();
    let workers: Vec<_> = storages
        .iter()
        .enumerate()
        .map(|(number, storage)| Box::pin(work(options, number, storage.clone(), meter.clone())))
        .collect();
    let measured = tokio::spawn({
        let options = options.clone();
        async move { measure(&options, &mut storages, &meter, begun).await }
    });
    // The workers run in the main task, as in its examples.
    tokio::select! {
        measured = measured => measured?.map_err(|error| error.to_string().into()),
        (ended, ..) = select_all(workers) => {
            let why = ended.map_or_else(|error| format!("{error:?}"), |()| "no error".to_owned());
            peer::unsupported(&format!("the worker ended by itself: {why}"));
            peer::stay().await;
            Ok(())
        }
    }
}

async fn work(
    options: &Options,
    number: usize,
    storage: Storage,
    meter: Arc<Meter>,
) -> Result<(), WorkerError> {
    let worker = WorkerBuilder::new(format!("bench-{}-{number}", std::process::id()));
    match options.mode {
        Mode::Default => {
            let worker =
                worker.backend(storage.poll_with_interval(POLL_INTERVAL)).concurrency(options.concurrency);
            worker.parallelize(tokio::spawn).data(meter).build(perform).run().await
        }
        Mode::Safe => {
            let worker =
                worker.backend(storage.poll_with_stream(Ticks::new())).concurrency(options.concurrency);
            worker.parallelize(tokio::spawn).data(meter).build(perform).run().await
        }
    }
}

/// The same interval, and the next tick always wakes the worker. Its own interval does not when two ticks pass during
/// one fetch: then nothing is fetched before the next heartbeat.
struct Ticks {
    interval: tokio::time::Interval,
}

impl Ticks {
    fn new() -> Self {
        let mut interval = tokio::time::interval(POLL_INTERVAL);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Self { interval }
    }
}

impl Stream for Ticks {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<()>> {
        if self.interval.poll_tick(cx).is_pending() {
            return Poll::Pending;
        }
        // Asks for the wake-up of the next tick.
        while self.interval.poll_tick(cx).is_ready() {}
        Poll::Ready(Some(()))
    }
}

async fn measure(
    options: &Options,
    storages: &mut [Storage],
    meter: &Meter,
    begun: Instant,
) -> Result<(), BoxDynError> {
    match options.workload {
        Workload::Pickup => {
            let mut pushed = Vec::new();
            for number in 0..options.jobs + peer::WARM_UP {
                tokio::time::sleep(peer::PICK_UP_PAUSE).await;
                pushed.push(Instant::now());
                let queue = number % storages.len();
                storages[queue].push(args(number as u64)).await?;
            }
            meter.report_pick_ups(&pushed, options.limit()).await;
        }
        Workload::DelayedLate => {
            let first = SystemTime::now().duration_since(UNIX_EPOCH)? + peer::DUE_LEAD;
            let mut all_due = Vec::new();
            for (number, offset) in peer::due_offsets(options.jobs).into_iter().enumerate() {
                // It knows whole seconds only, so only such are asked of it.
                let due = (first + Duration::from_secs_f64(offset)).as_secs();
                let task = TaskBuilder::new(args(number as u64)).run_at_timestamp(due).build();
                storages[0].push_task(task).await?;
                all_due.push(UNIX_EPOCH + Duration::from_secs(due));
            }
            meter.report_lateness(&all_due, peer::DUE_LEAD + peer::DUE_WITHIN + options.limit()).await;
        }
        Workload::DelayedDue => meter.report_time_since(begun, options.limit()).await,
        Workload::Idle | Workload::Numbers => {}
        _ => meter.report_drain(options.limit()).await,
    }
    // With the workers running on.
    peer::stay().await;
    Ok(())
}
