//! Failures that services file are counted, however late.

use crate::recovery::{job, leave, noting, often};
use crate::support::{Log, Seen, Site, TestResult, reach};

/// A dead process left a job that was recovered too often, and the counter of failures is damaged.
fn leave_one_for_dead_that_cannot_be_counted(site: &Site) -> TestResult {
    site.keep_damage()?;
    site.run(&["RPUSH", "cogworker:stats:failed", "no number"])?;
    leave(site, &[job(1, "default")])?;
    site.run(&["SET", "cogworker:orphanings:j1", "3"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_of_services_that_could_not_be_counted_are_counted_later_proc_14_log_02() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    leave_one_for_dead_that_cannot_be_counted(&site)?;
    site.run(&["ZADD", "cogworker:schedule", "1", r#"{"class":"A","jid":"without-a-queue"}"#])?;
    let worker = site.worker_with(noting(&Seen::default()), often)?;
    reach("both are dead", || site.members("dead") == 2)?;
    let told = "counting failures that were filed: failed to use a redis key";
    reach("it is told", || log.count(told) >= 2)?;
    site.run(&["DEL", "cogworker:stats:failed"])?;
    reach("they are counted", || site.failed() == 2)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_of_services_are_counted_at_a_stop_at_the_latest_proc_14() -> TestResult {
    let log = Log::of_this_process();
    let site = Site::start().await?;
    leave_one_for_dead_that_cannot_be_counted(&site)?;
    let worker = site.worker_with(noting(&Seen::default()), often)?;
    reach("it is told", || log.count("1 are counted later") >= 1)?;
    site.run(&["DEL", "cogworker:stats:failed"])?;
    worker.stop().await?;
    assert_eq!(site.failed(), 1);
    Ok(())
}
