use apalis::prelude::TaskSink;
use peer::{Options, Outcome, Workload, args};

pub(crate) async fn run(options: &Options) -> Outcome {
    let numbered = match options.workload {
        Workload::Drain | Workload::DelayedDue => false,
        Workload::DrainFail | Workload::Numbers => true,
        _ => return Ok(()),
    };
    let mut storages = crate::storages(options).await?;
    for first in (0..options.jobs).step_by(peer::BULK) {
        let batch = first..options.jobs.min(first + peer::BULK);
        let jobs = batch.map(|number| args(if numbered { number as u64 } else { peer::NUMBER })).collect();
        storages[0].push_bulk(jobs).await?;
    }
    Ok(())
}
