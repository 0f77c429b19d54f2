//! The way to Redis broken, in all the ways a network breaks.

use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{Fault, FaultProxy, TestRedisOptions};

use crate::program::Program;
use crate::round::measured;
use crate::support::{Numbered, Site, TestResult, reach};

/// Longest from the end of a fault to the next run (P-13).
const RESUMED: Duration = Duration::from_secs(5);
const JOBS: usize = 1000;

/// Jobs are run while the way is broken and after it.
struct Line {
    site: Site,
    proxy: FaultProxy,
    worker: Program,
    pushed: usize,
}

impl Line {
    async fn laid(options: TestRedisOptions) -> Result<Self, Box<dyn std::error::Error>> {
        let site = Site::on(options.start()?).await?;
        let proxy = FaultProxy::start(&site.redis)?;
        let worker = Program::working(&proxy.url())?;
        reach("it waits for jobs", || site.text(&["CLIENT", "LIST"]).contains("cmd=blmove"))?;
        Ok(Self { site, proxy, worker, pushed: 0 })
    }

    async fn push(&mut self, count: usize) -> TestResult {
        let jobs: Vec<_> = (self.pushed..self.pushed + count).map(Numbered).collect();
        self.pushed += count;
        self.site.client.push_bulk(&jobs).await?;
        Ok(())
    }

    /// A job pushed now runs soon, once the way is whole.
    async fn resumes(&mut self, fault: &str) -> TestResult {
        let begun = Instant::now();
        let number = self.pushed;
        self.push(1).await?;
        reach("a job runs after the fault", || self.worker.said(&format!("ran {number}")) > 0)
            .map_err(|error| format!("{error}: {}", self.worker.process.log().join("\n")))?;
        let took = measured(fault, begun);
        assert!(took < RESUMED, "{took:?}");
        Ok(())
    }

    /// Each job ran once and is counted once.
    fn all_ran_once(&self) -> TestResult {
        reach("all are counted", || self.site.processed() == self.pushed as i64)
            .map_err(|error| format!("{error}: {} of {}", self.site.processed(), self.pushed))?;
        let twice = (0..self.pushed).filter(|number| self.worker.said(&format!("ran {number}")) != 1).count();
        assert_eq!((twice, self.worker.runs()), (0, self.pushed));
        let held = self.site.int(&["LLEN", &format!("cogworker:inprogress:{}", self.worker.identity)]);
        assert_eq!((held, self.site.waiting("default"), self.site.failed().max(0)), (0, 0, 0));
        Ok(())
    }
}

/// The fault under load, until the worker says that Redis is away.
async fn under_load(fault: &str, begin: impl FnOnce(&FaultProxy)) -> TestResult {
    let mut line = Line::laid(TestRedisOptions::new()).await?;
    line.push(JOBS).await?;
    reach("some ran", || line.worker.runs() > JOBS / 10)?;
    begin(&line.proxy);
    reach("it notices", || line.worker.outages().0 == 1)?;
    line.proxy.set(Fault::Pass);
    line.resumes(fault).await?;
    line.all_ran_once()?;
    line.worker.told_one_outage()?;
    line.worker.stop()
}

/// The fault while the worker waits for jobs.
async fn while_idle(fault: &str, begin: impl FnOnce(&FaultProxy)) -> TestResult {
    let mut line = Line::laid(TestRedisOptions::new()).await?;
    begin(&line.proxy);
    reach("it notices", || line.worker.outages().0 == 1)?;
    line.proxy.set(Fault::Pass);
    line.resumes(fault).await?;
    line.all_ran_once()?;
    line.worker.told_one_outage()?;
    line.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_are_left_under_load_p_13_c() -> TestResult {
    under_load("half-open under load", |proxy| proxy.set(Fault::BlackHole)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_are_left_by_an_idle_worker_p_13_c() -> TestResult {
    while_idle("half-open, idle", |proxy| proxy.set(Fault::BlackHole)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_do_not_come_cost_no_job_and_no_count() -> TestResult {
    under_load("replies swallowed", |proxy| proxy.set(Fault::SwallowReplies)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_connections_are_tried_again_under_load() -> TestResult {
    under_load("cut and refused", |proxy| {
        proxy.set(Fault::Refuse);
        proxy.cut();
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_connections_are_tried_again_by_an_idle_worker() -> TestResult {
    while_idle("cut and refused, idle", |proxy| {
        proxy.set(Fault::Refuse);
        proxy.cut();
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_cut_again_and_again_cost_no_job_and_no_count() -> TestResult {
    let mut line = Line::laid(TestRedisOptions::new()).await?;
    line.push(JOBS).await?;
    for part in 1..=5 {
        reach("some ran", || line.worker.runs() > part * JOBS / 10)?;
        line.proxy.cut();
    }
    line.resumes("connections cut").await?;
    line.all_ran_once()?;
    line.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_sleeps_for_three_seconds_costs_nothing() -> TestResult {
    let mut line = Line::laid(TestRedisOptions::new().arg("--enable-debug-command").arg("yes")).await?;
    line.push(JOBS).await?;
    reach("some ran", || line.worker.runs() > JOBS / 10)?;
    assert_eq!(line.site.run(&["DEBUG", "SLEEP", "3"])?, "OK");
    line.resumes("DEBUG SLEEP 3").await?;
    line.all_ran_once()?;
    line.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes 40 s"]
async fn half_a_minute_without_a_packet_is_survived_p_13_c() -> TestResult {
    let mut line = Line::laid(TestRedisOptions::new()).await?;
    line.proxy.set(Fault::BlackHole);
    std::thread::sleep(Duration::from_secs(30));
    line.proxy.set(Fault::Pass);
    line.resumes("half-open for 30 s").await?;
    line.all_ran_once()?;
    line.worker.told_one_outage()?;
    line.worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_learns_within_its_limit_that_redis_does_not_answer() -> TestResult {
    let site = Site::start().await?;
    let proxy = FaultProxy::start(&site.redis)?;
    let config = RedisConfig::new(&proxy.url())?.with_command_timeout(Duration::from_millis(500));
    let client = Client::connect(&config).await?;
    proxy.set(Fault::BlackHole);
    let begun = Instant::now();
    let pushed = client.perform_async(&Numbered(1)).await;
    assert!(pushed.is_err() && begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    proxy.set(Fault::Pass);
    let begun = Instant::now();
    client.perform_async(&Numbered(2)).await?;
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    Ok(())
}
