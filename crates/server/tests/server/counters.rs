//! Counters, throughput and the attempt log.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cogworker_core::new_job::NewJob;
use cogworker_core::time::EpochSeconds;
use cogworker_server::{App, JobError};

use crate::support::{Numbered, Site, TestResult, reach};

const HOUR: &str = "return redis.call('KEYS', 'cogworker:throughput:*')";

/// Every fifth run fails; the runs are counted.
fn every_fifth_fails(runs: &Arc<AtomicUsize>) -> App {
    let runs = runs.clone();
    App::new(()).job(move |job: Numbered| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move {
            if job.0.is_multiple_of(3) {
                tokio::task::yield_now().await;
            }
            if job.0.is_multiple_of(5) { Err(JobError::new("E", "fifth")) } else { Ok(()) }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processed_and_failed_add_up_to_the_runs_with_two_workers_cnt_08() -> TestResult {
    let site = Site::start().await?;
    let jobs = (0..4000).map(|n| NewJob::of(&Numbered(n)).retry(if n % 2 == 0 { 3 } else { 0 }));
    site.client.push_all(jobs.collect()).await?;
    let begun_in = EpochSeconds::now().as_f64() as i64 / 3600;
    let runs = Arc::default();
    let workers = [site.worker(every_fifth_fails(&runs))?, site.worker(every_fifth_fails(&runs))?];
    reach("all runs are counted", || site.processed() + site.failed() == 4000)?;
    assert_eq!(runs.load(Ordering::SeqCst), 4000);
    assert_eq!((site.processed(), site.failed()), (3200, 800));
    assert_eq!((site.members("retry"), site.members("dead")), (400, 400));
    let stats = site.client.stats().await?;
    assert_eq!((stats.processed, stats.failed), (Some(3200), Some(800)));
    assert_eq!((stats.retrying, stats.dead, stats.enqueued), (Some(400), Some(400), 0));

    let hours = site.texts(&["EVAL", HOUR, "0"]);
    let sum = |field: &str| hours.iter().map(|hour| site.int(&["HGET", hour, field])).sum::<i64>();
    assert_eq!((sum("processed"), sum("failed")), (3200, 800));
    for hour in &hours {
        let number: i64 = hour.rsplit(':').next().unwrap_or_default().parse()?;
        assert!((begun_in..=begun_in + 1).contains(&number), "{hour}");
        assert!((89_000..=90_000).contains(&site.int(&["TTL", hour])), "25 hours (CNT-03)");
    }
    for worker in workers {
        assert_eq!(site.in_progress(&worker), 0);
        worker.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_of_the_wrong_type_cost_no_job_and_are_made_up_for_proc_06() -> TestResult {
    let site = Site::start().await?;
    site.keep_damage()?;
    site.run(&["LPUSH", "cogworker:stats:processed", "x"])?;
    let runs = Arc::default();
    let worker = site.worker(every_fifth_fails(&runs))?;
    site.client.push_bulk(&[Numbered(1), Numbered(2)]).await?;
    reach("both are acknowledged", || runs.load(Ordering::SeqCst) == 2 && site.in_progress(&worker) == 0)?;
    assert_eq!((site.waiting("default"), site.members("retry"), site.members("dead")), (0, 0, 0));
    site.run(&["DEL", "cogworker:stats:processed"])?;
    site.client.perform_async(&Numbered(3)).await?;
    reach("all three are counted", || site.processed() == 3)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_attempt_log_keeps_the_last_25_for_30_days_cnt_05_cnt_06() -> TestResult {
    let site = Site::start().await?;
    for attempt in 1..=25 {
        site.run(&["RPUSH", "cogworker:job_attempts:j", &format!(r#"{{"attempt":{attempt}}}"#)])?;
    }
    let runs = Arc::default();
    let worker = site.worker(every_fifth_fails(&runs))?;
    let job = NewJob::of(&Numbered(5)).jid("j").set("retry_count", 25).retry(40);
    site.client.push(job).await?;
    reach("the failure", || site.members("retry") == 1)?;
    let attempts = site.texts(&["LRANGE", "cogworker:job_attempts:j", "0", "-1"]);
    assert_eq!(attempts.len(), 25);
    assert_eq!(attempts[0], r#"{"attempt":2}"#);
    assert!(attempts[24].contains(r#""attempt":26"#), "{}", attempts[24]);
    let ttl = site.int(&["TTL", "cogworker:job_attempts:j"]);
    assert!((30 * 86_400 - 60..=30 * 86_400).contains(&ttl), "{ttl}");
    worker.stop().await
}
