use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use apalis::prelude::{
    BackendExt, BoxDynError, Data, ParallelizeExt, TaskBuilder, TaskSink, WorkerBuilder, WorkerBuilderExt,
    WorkerError,
};
use futures::future::select_all;
use peer::{JobArgs, Meter, Options, Outcome, Workload, args};

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
    WorkerBuilder::new(format!("bench-{}-{number}", std::process::id()))
        .backend(storage.poll_with_interval(POLL_INTERVAL))
        .concurrency(options.concurrency)
        .parallelize(tokio::spawn)
        .data(meter)
        .build(perform)
        .run()
        .await
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
