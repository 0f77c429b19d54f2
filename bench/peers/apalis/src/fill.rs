use apalis::prelude::TaskSink;
use apalis_redis::{ConnectionManager, RedisError};
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
        if options.workload != Workload::DelayedDue {
            let config = storages[0].get_config();
            let (waiting, scheduled) = (config.active_jobs_list(), config.scheduled_jobs_set());
            make_ready(storages[0].get_connection(), &waiting, &scheduled).await?;
        }
    }
    Ok(())
}

/// Does what a running worker's fetch would do meanwhile. Every push goes to the scheduled jobs first, and the fetch
/// that moves the due ones on fails for good once they are more than Lua can unpack, about 8,000.
async fn make_ready(redis: &mut ConnectionManager, waiting: &str, scheduled: &str) -> Result<(), RedisError> {
    let ids: Vec<Vec<u8>> = redis::cmd("ZRANGE").arg(scheduled).arg(0).arg(-1).query_async(redis).await?;
    let mut moved = redis::pipe();
    moved.rpush(waiting, &ids).zrem(scheduled, &ids);
    moved.query_async(redis).await
}
