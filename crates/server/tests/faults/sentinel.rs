//! A primary that Sentinels look after: killed, moved, and the Sentinels themselves gone.

use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{TestRedis, TestRedisOptions, TestSentinel, TestSentinelOptions};

use crate::program::Program;
use crate::round::{Stage, measured};
use crate::support::{Numbered, TestResult, Text, reach};

/// Longest from the change to the next run, once a new primary is there.
const RESUMED: Duration = Duration::from_secs(10);
const HELD: usize = 10;

fn url(group: &TestSentinel, sentinels: usize) -> String {
    let hosts: Vec<_> =
        group.ports().iter().take(sentinels).map(|port| format!("127.0.0.1:{port}")).collect();
    format!("redis-sentinel://{}?service={}", hosts.join(","), group.service())
}

struct Group {
    group: TestSentinel,
    client: Client,
    worker: Program,
}

impl Group {
    /// Ten jobs run, and nothing is written but heartbeats.
    async fn with_held_jobs(options: TestSentinelOptions) -> Result<Self, Box<dyn std::error::Error>> {
        let group = options.start()?;
        let url = url(&group, usize::MAX);
        let client = Client::connect(&RedisConfig::new(&url)?).await?;
        let worker = Program::working(&url)?;
        for number in 0..HELD {
            let text = if number % 2 == 0 { "goes well" } else { "fails" };
            client.push(NewJob::of(&Text(format!("{text} {number}")))).await?;
        }
        reach("they run", || worker.said("waits") == HELD)?;
        // Replication is asynchronous: what the replica has not got by the failover is lost, whoever
        // wrote it. So the jobs taken are there before it begins.
        let primary = group.primary()?;
        let replicas = group.replicas()?;
        reach("the replicas have everything", || {
            replicas.iter().all(|replica| replica.in_sync_with(primary).unwrap_or(false))
        })?;
        Ok(Self { group, client, worker })
    }

    /// Pushes until it works, and waits for the run.
    async fn resumes(&self, fault: &str, begun: Instant) -> TestResult {
        while let Err(error) = self.client.perform_async(&Numbered(1)).await {
            if begun.elapsed() > 2 * RESUMED {
                return Err(format!("{error}; {:?}", self.worker.process.log()).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        reach("it runs", || self.worker.said("ran 1") >= 1)?;
        let took = measured(fault, begun);
        assert!(took < RESUMED, "{took:?}");
        Ok(())
    }

    /// The ten jobs that were held are settled, once each, on the new primary.
    fn all_are_settled_on(&self, primary: &TestRedis) -> TestResult {
        let number = |args: &[&str]| {
            let reply = primary.command(args).ok();
            reply.and_then(|it| it.as_int().or_else(|| it.as_str()?.parse().ok())).unwrap_or(0)
        };
        let half = HELD as i64 / 2;
        let settled = || {
            let [failed, retry] = [&["GET", "cogworker:stats:failed"][..], &["ZCARD", "cogworker:retry"]];
            (number(&["GET", "cogworker:stats:processed"]), number(failed), number(retry))
        };
        reach("all are settled", || settled() == (half + 1, half, half))
            .map_err(|error| format!("{error}: {:?}; {:?}", settled(), self.worker.process.log()))?;
        assert_eq!(self.worker.runs(), HELD + 1);
        assert_eq!(number(&["LLEN", &format!("cogworker:inprogress:{}", self.worker.identity)]), 0);
        assert_eq!(self.worker.lines("ERROR").len(), 0, "{:?}", self.worker.process.log());
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_primary_is_left_for_the_next_and_running_jobs_are_settled_there() -> TestResult {
    let it = Group::with_held_jobs(TestSentinelOptions::new()).await?;
    let begun = Instant::now();
    let old = it.group.kill_primary()?;
    it.worker.open_gate()?;
    it.resumes("Sentinel: primary killed, its death noticed included", begun).await?;
    it.all_are_settled_on(it.group.wait_for_failover(old)?)?;
    it.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_on_demand_moves_worker_and_client_to_the_new_primary() -> TestResult {
    let it = Group::with_held_jobs(TestSentinelOptions::new()).await?;
    let new = it.group.failover()?;
    // The jobs end only now: what the old primary takes before Sentinel demotes it is lost.
    let begun = Instant::now();
    it.worker.open_gate()?;
    it.resumes("SENTINEL FAILOVER", begun).await?;
    it.all_are_settled_on(new)?;
    it.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_under_load_loses_no_job_that_the_new_primary_has() -> TestResult {
    const JOBS: usize = 3000;
    let group = TestSentinel::start()?;
    let url = url(&group, usize::MAX);
    let client = Client::connect(&RedisConfig::new(&url)?).await?;
    client.push_bulk(&(0..JOBS).map(Numbered).collect::<Vec<_>>()).await?;
    let (primary, replica) = (group.primary()?, group.replicas()?.remove(0));
    reach("the replica has all jobs", || replica.in_sync_with(primary).unwrap_or(false))?;
    let worker = Program::working(&url)?;
    reach("some ran", || worker.runs() > JOBS / 20)?;
    let begun = Instant::now();
    let new = group.failover()?;
    reach("all ran", || (0..JOBS).all(|number| worker.said(&format!("ran {number}")) > 0))?;
    measured("SENTINEL FAILOVER under load, until 3000 jobs had run", begun);
    // What was settled on the old primary after the new one had begun may run again: at least once.
    let held = format!("cogworker:inprogress:{}", worker.identity);
    let left = || [new.command(&["LLEN", "cogworker:queue:default"]), new.command(&["LLEN", &held])];
    reach("nothing is left", || left().into_iter().all(|count| count.is_ok_and(|it| it == 0)))?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sentinels_of_the_configuration_are_asked_also_when_all_others_are_gone() -> TestResult {
    let group = TestSentinelOptions::new().sentinels(3).start()?;
    // Only the first is configured; the client library hears of the others, and forgets the first.
    let url = url(&group, 1);
    let client = Client::connect(&RedisConfig::new(&url)?).await?;
    let worker = Program::working(&url)?;
    client.perform_async(&Numbered(1)).await?;
    reach("it works", || worker.said("ran 1") == 1)?;
    group.kill_sentinel(1);
    group.kill_sentinel(2);
    for kind in ["normal", "pubsub"] {
        group.primary()?.command(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"])?;
    }
    let begun = Instant::now();
    while client.perform_async(&Numbered(2)).await.is_err() {
        assert!(begun.elapsed() < RESUMED, "{:?}", worker.process.log());
    }
    reach("it works again", || worker.said("ran 2") >= 1)?;
    let took = measured("Sentinel: connections cut, all but one Sentinel gone", begun);
    assert!(took < RESUMED, "{took:?}");
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_through_sentinel_with_a_password() -> TestResult {
    let options = TestSentinelOptions::new().redis(TestRedisOptions::new().requirepass("secret"));
    let group = options.start()?;
    let mut config = RedisConfig::new(&url(&group, usize::MAX))?;
    config.password = Some("secret".into());
    Stage::set(&config, |_| {}).await?.play().await?;
    Ok(())
}
