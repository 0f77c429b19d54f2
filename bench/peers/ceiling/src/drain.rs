use std::time::Instant;

use peer::Options;
use redis::Script;
use redis::aio::MultiplexedConnection;
use tokio::sync::mpsc;

use crate::{connect, queue_key};

const IN_PROGRESS: &str = "inprogress:ceiling";
/// Most jobs that one call takes or removes.
const BATCH: usize = 500;
/// Batches that may wait between the two halves.
const AHEAD: usize = 2;

/// KEYS: queue LIST, in-progress LIST. ARGV: most jobs to take. The jobs come oldest first.
const FETCH: &str = r"
local waiting = redis.call('LRANGE', KEYS[1], -tonumber(ARGV[1]), -1)
local count = #waiting
local jobs = {}
for index = 1, count do
  jobs[index] = waiting[count - index + 1]
end
if count > 0 then
  redis.call('LPUSH', KEYS[2], unpack(jobs))
  redis.call('LTRIM', KEYS[1], 0, -count - 1)
end
return jobs
";

/// KEYS: in-progress LIST, counter STRING, throughput HASH. ARGV: the jobs, oldest first. How many were on the list.
const SETTLE: &str = r"
local count = #ARGV
local tail = redis.call('LRANGE', KEYS[1], -count, -1)
local in_order = #tail == count
for index = 1, count do
  in_order = in_order and tail[count - index + 1] == ARGV[index]
end
local removed = count
if in_order then
  redis.call('LTRIM', KEYS[1], 0, -count - 1)
else
  removed = 0
  for index = 1, count do
    removed = removed + redis.call('LREM', KEYS[1], -1, ARGV[index])
  end
end
redis.call('INCRBY', KEYS[2], removed)
redis.call('HINCRBY', KEYS[3], 'processed', removed)
return removed
";

/// The two halves overlap on one connection: while a batch is removed, the next is taken.
pub(crate) async fn run(options: &Options) -> peer::Outcome {
    let redis = connect(options).await?;
    // Loads the scripts, as a worker has long done by the time it is busy.
    Script::new(FETCH).load_async(&mut redis.clone()).await?;
    Script::new(SETTLE).load_async(&mut redis.clone()).await?;
    let (taken, waiting) = mpsc::channel(AHEAD);
    peer::ready();
    let begun = Instant::now();
    let (_, removed) = tokio::try_join!(fetch(redis.clone(), taken), settle(redis, waiting))?;
    crate::report(begun, removed);
    Ok(())
}

async fn fetch(
    mut redis: MultiplexedConnection,
    taken: mpsc::Sender<Vec<Vec<u8>>>,
) -> redis::RedisResult<()> {
    let script = Script::new(FETCH);
    loop {
        let jobs: Vec<Vec<u8>> =
            script.key(queue_key("default")).key(IN_PROGRESS).arg(BATCH).invoke_async(&mut redis).await?;
        if jobs.is_empty() || taken.send(jobs).await.is_err() {
            return Ok(());
        }
    }
}

async fn settle(
    mut redis: MultiplexedConnection,
    mut waiting: mpsc::Receiver<Vec<Vec<u8>>>,
) -> redis::RedisResult<usize> {
    let script = Script::new(SETTLE);
    let mut removed = 0;
    while let Some(jobs) = waiting.recv().await {
        let mut call = script.key(IN_PROGRESS);
        call.key("stat:processed").key("throughput");
        for job in &jobs {
            call.arg(&job[..]);
        }
        removed += call.invoke_async::<usize>(&mut redis).await?;
    }
    Ok(removed)
}
