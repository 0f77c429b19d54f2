use std::time::Instant;

use peer::{Meter, Options};
use redis::aio::MultiplexedConnection;
use tokio::task::JoinSet;

use crate::{connect, payload, push, queue_key};

const IN_PROGRESS: &str = "inprogress:ceiling";
/// How long one wait lasts, in seconds.
const WAIT: usize = 10;

/// One connection waits on each queue, and says when it got a job.
pub(crate) async fn run(options: &Options) -> peer::Outcome {
    let meter = Meter::new(options)?;
    let (queues, _waits) = wait_on_all(options, Some(meter.clone())).await?;
    let mut redis = connect(options).await?;
    peer::ready();
    let mut pushed = Vec::new();
    for number in 0..options.jobs + peer::WARM_UP {
        tokio::time::sleep(peer::PICK_UP_PAUSE).await;
        let job = payload(number);
        pushed.push(Instant::now());
        push(&mut redis, &queues[number % queues.len()], &[job]).await?;
    }
    meter.report_pick_ups(&pushed, options.limit()).await;
    Ok(())
}

pub(crate) async fn idle(options: &Options) -> peer::Outcome {
    let (_, _waits) = wait_on_all(options, None).await?;
    peer::ready();
    peer::stay().await;
    Ok(())
}

async fn wait_on_all(
    options: &Options,
    meter: Option<std::sync::Arc<Meter>>,
) -> redis::RedisResult<(Vec<String>, JoinSet<redis::RedisResult<()>>)> {
    let queues: Vec<String> = peer::queues(options.queues).iter().map(|name| queue_key(name)).collect();
    let mut waits = JoinSet::new();
    for queue in &queues {
        let (redis, queue, meter) = (connect(options).await?, queue.clone(), meter.clone());
        waits.spawn(wait(redis, queue, meter));
    }
    Ok((queues, waits))
}

async fn wait(
    mut redis: MultiplexedConnection,
    queue: String,
    meter: Option<std::sync::Arc<Meter>>,
) -> redis::RedisResult<()> {
    loop {
        let mut blmove = redis::cmd("BLMOVE");
        blmove.arg(&queue).arg(IN_PROGRESS).arg("RIGHT").arg("LEFT").arg(WAIT);
        let Some(job) = blmove.query_async::<Option<Vec<u8>>>(&mut redis).await? else { continue };
        if let (Some(meter), Some(number)) = (&meter, number(&job)) {
            // The clock alone: it cannot fail for this workload.
            let _ = meter.perform(number).await;
        }
        redis::cmd("LREM").arg(IN_PROGRESS).arg(-1).arg(job).query_async::<()>(&mut redis).await?;
    }
}

/// The number of a job, which stands in its id.
fn number(job: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(job).ok()?;
    let (_, rest) = text.split_once(r#""jid":""#)?;
    u64::from_str_radix(rest.get(..24)?, 16).ok()
}
