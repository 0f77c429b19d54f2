//! The primary becomes another server: behind one address, or as Sentinel says.

use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{FaultProxy, TestRedis};

use crate::program::Program;
use crate::round::measured;
use crate::support::{Numbered, Site, TestResult, Text, reach};

/// Longest from the change to the next run (P-50).
const RESUMED: Duration = Duration::from_secs(10);
const HELD: usize = 10;

/// Two servers behind one address, and ten jobs that run.
struct Pair {
    old: TestRedis,
    new: Site,
    proxy: FaultProxy,
    client: Client,
    worker: Program,
}

impl Pair {
    async fn with_held_jobs(held: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let old = TestRedis::start()?;
        let proxy = FaultProxy::start(&old)?;
        let client = Client::connect(&RedisConfig::new(&proxy.url())?).await?;
        let worker = Program::working(&proxy.url())?;
        for number in 0..held {
            let text = if number % 2 == 0 { "goes well" } else { "fails" };
            client.perform_async(&Text(format!("{text} {number}"))).await?;
        }
        reach("they run", || worker.said("waits") == held)?;
        let new = Site::on(old.replica()?).await?;
        Ok(Self { old, new, proxy, client, worker })
    }

    /// The connections to the old server stay open. What is written there between the two orders is
    /// lost, as replication goes, so nothing is: all jobs are held.
    fn swap(&self) -> TestResult {
        reach("the new one has everything", || self.new.redis.in_sync_with(&self.old).unwrap_or(false))?;
        self.new.redis.promote()?;
        self.old.demote(&self.new.redis)?;
        self.proxy.retarget(&self.new.redis)?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_run_while_their_primary_is_demoted_are_settled_on_the_new_one_p_50() -> TestResult {
    let pair = Pair::with_held_jobs(HELD).await?;
    pair.swap()?;
    let begun = Instant::now();
    pair.worker.open_gate()?;
    // The client's first call is refused, or its connection was replaced already.
    let mut attempts = 0;
    while pair.client.perform_async(&Numbered(1)).await.is_err() {
        attempts += 1;
        assert!(begun.elapsed() < RESUMED && attempts < 100);
    }
    reach("it runs", || pair.worker.said("ran 1") == 1)?;
    let took = measured("primary demoted behind one address", begun);
    assert!(took < RESUMED, "{took:?}");
    let half = HELD as i64 / 2;
    let settled = || (pair.new.processed(), pair.new.failed(), pair.new.members("retry"));
    reach("all are settled on the new one", || settled() == (half + 1, half, half))?;
    assert_eq!(pair.worker.runs(), HELD + 1);
    let held = pair.new.int(&["LLEN", &format!("cogworker:inprogress:{}", pair.worker.identity)]);
    assert_eq!((held, pair.new.waiting("default"), pair.worker.lines("lost ownership").len()), (0, 0, 0));
    // The connections find out one by one, so there may be a line for each, but no more (OUT-03).
    reach("the recovery is told", || pair.worker.outages().0 == pair.worker.outages().1)?;
    assert!((1..=3).contains(&pair.worker.outages().0), "{:?}", pair.worker.process.log());
    assert_eq!(pair.worker.lines("ERROR").len(), 0, "{:?}", pair.worker.process.log());
    pair.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_leaves_a_demoted_server_and_serves_queue_and_schedule_p_50() -> TestResult {
    let pair = Pair::with_held_jobs(0).await?;
    pair.swap()?;
    let begun = Instant::now();
    pair.new.client.perform_in(Duration::from_millis(10), &Numbered(1)).await?;
    pair.new.client.perform_async(&Numbered(2)).await?;
    reach("both run", || pair.worker.said("ran 1") + pair.worker.said("ran 2") == 2)?;
    let took = measured("idle, primary demoted", begun);
    assert!(took < RESUMED, "{took:?}");
    pair.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_leaves_a_demoted_server_that_shows_old_data_p_50() -> TestResult {
    let pair = Pair::with_held_jobs(0).await?;
    pair.swap()?;
    // Cut off from the new primary: nothing that is due there ever shows here.
    assert_eq!(pair.old.cli(&["REPLICAOF", "127.0.0.1", "1"]), "OK");
    let begun = Instant::now();
    pair.new.client.perform_in(Duration::from_millis(10), &Numbered(1)).await?;
    reach("it runs", || pair.worker.said("ran 1") == 1)?;
    let took = measured("idle, demoted server cut off: a delayed job", begun);
    assert!(took < RESUMED, "{took:?}");
    let mine = |quiet| {
        let key = format!("cogworker:process:{}", pair.worker.identity);
        pair.new.text(&["HGET", &key, "quiet"]) == quiet
    };
    reach("it beats there", || mine("false"))?;
    reach("it hears what is said there", || {
        let told = ["PUBLISH", &format!("cogworker:signal:{}", pair.worker.identity), "quiet"];
        pair.new.int(&told) == 1
    })?;
    reach("it is quiet", || mine("true"))?;
    pair.worker.stop()
}
