//! Unique jobs that end while Redis takes no writes: their locks are freed once it does (DEFER-01, DEFER-02).

use std::error::Error;
use std::time::Duration;

use cogworker_core::job::Job;
use cogworker_core::options::JobOptions;
use cogworker_server::{App, JobError};
use cogworker_testing::TestRedis;
use serde::{Deserialize, Serialize};

use crate::support::{Gate, Site, TestResult, Worker, reach};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
struct Report(u32);

impl Job for Report {
    const CLASS: &'static str = "ReportJob";

    fn options() -> JobOptions {
        JobOptions::new().unique().retry(0)
    }
}

/// A job that ended on a server that was demoted meanwhile, which refused to settle it.
struct Demoted {
    site: Site,
    worker: Worker,
    /// What is written here reaches the demoted server.
    primary: TestRedis,
    lock: String,
}

impl Demoted {
    async fn begin(fails: bool) -> Result<Self, Box<dyn Error>> {
        let site = Site::start().await?;
        let gate = Gate::closed();
        let inside = gate.clone();
        let app = App::new(()).job(move |_: Report| {
            let inside = inside.clone();
            async move {
                inside.pass().await;
                if fails { Err(JobError::new("Boom", "no luck")) } else { Ok(()) }
            }
        });
        // Nothing else writes meanwhile, so that what is refused is the settlement.
        let worker = site.worker_with(app, |config| {
            config.timings.beat = MINUTE;
            config.timings.check = MINUTE;
        })?;
        let jid = site.client.perform_async(&Report(1)).await?.ok_or("a duplicate")?.to_string();
        reach("it runs", || gate.arrived() == 1)?;
        let lock = site.texts(&["KEYS", "cogworker:unique:*"]).pop().ok_or("no lock")?;
        let primary = site.redis.replica()?;
        primary.promote()?;
        site.redis.demote(&primary)?;
        site.run(&["CONFIG", "RESETSTAT"])?;
        gate.let_pass(1);
        reach("its settlement is refused", || {
            let calls = site.text(&["INFO", "commandstats"]);
            let evals = calls.lines().filter(|line| line.starts_with("cmdstat_eval"));
            evals.into_iter().any(|line| !line.contains("failed_calls=0"))
        })?;
        assert_eq!(site.text(&["GET", &lock]), jid, "it is still held");
        Ok(Self { site, worker, primary, lock })
    }

    fn promote(&self) -> TestResult {
        Ok(self.site.redis.promote()?)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_of_a_job_that_ended_meanwhile_is_freed_once_writes_are_taken_defer_01() -> TestResult {
    for fails in [false, true] {
        let demoted = Demoted::begin(fails).await?;
        demoted.promote()?;
        let site = &demoted.site;
        reach("the lock is freed, long before it would end", || {
            site.text(&["GET", &demoted.lock]).is_empty()
        })?;
        reach("it is settled once", || {
            (site.processed().max(0), site.members("dead")) == (i64::from(!fails), i64::from(fails))
        })?;
        assert_eq!((site.in_progress(&demoted.worker), site.members("retry")), (0, 0));
        assert!(site.client.perform_async(&Report(1)).await?.is_some());
        demoted.worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_changed_hands_meanwhile_is_left_defer_02() -> TestResult {
    for fails in [false, true] {
        let demoted = Demoted::begin(fails).await?;
        demoted.primary.cli(&["SET", &demoted.lock, "other", "EX", "500"]);
        let site = &demoted.site;
        reach("the change is seen", || site.text(&["GET", &demoted.lock]) == "other")?;
        demoted.promote()?;
        reach("it is settled", || {
            let outcome = (site.processed().max(0), site.members("dead"));
            site.in_progress(&demoted.worker) == 0 && outcome == (i64::from(!fails), i64::from(fails))
        })?;
        demoted.worker.stop().await?;
        assert_eq!(site.text(&["GET", &demoted.lock]), "other");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_for_the_release_that_redis_refuses_for_now_defer_05() -> TestResult {
    let demoted = Demoted::begin(false).await?;
    let listens = || !demoted.site.texts(&["PUBSUB", "CHANNELS", "cogworker:signal:*"]).is_empty();
    reach("it listens", listens)?;
    demoted.worker.handle.stop();
    // The control channel is closed just before the engine is told.
    reach("it stops", || !listens())?;
    demoted.promote()?;
    let Demoted { site, worker, lock, .. } = demoted;
    worker.ended().await?;
    assert_eq!((site.text(&["GET", &lock]).as_str(), site.processed()), ("", 1));
    Ok(())
}
