//! Redis away, restarted, forgetful or rude: nothing is lost.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, JobError};
use cogworker_testing::{FaultProxy, TestRedis, TestRedisOptions};

use crate::support::{Numbered, Seen, Site, TestResult, Worker, reach, start_worker};

const JOBS: usize = 3000;
/// More than run between two of the moments at which something is broken.
const MANY: usize = 20_000;

fn noting(seen: &Seen<usize>) -> App {
    let seen = seen.clone();
    App::new(()).job(move |job: Numbered| {
        let seen = seen.clone();
        async move {
            if job.0.is_multiple_of(7) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            seen.add(job.0);
        }
    })
}

async fn push_jobs(site: &Site, count: usize) -> TestResult {
    site.client.push_bulk(&(0..count).map(Numbered).collect::<Vec<_>>()).await?;
    Ok(())
}

fn distinct(seen: &Seen<usize>) -> usize {
    seen.all().into_iter().collect::<HashSet<_>>().len()
}

fn assert_nothing_left(site: &Site, worker: &Worker) -> TestResult {
    reach("everything is settled", || site.waiting("default") == 0 && site.in_progress(worker) == 0)?;
    assert_eq!((site.members("retry"), site.members("dead"), site.failed().max(0)), (0, 0, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_killed_and_restarted_under_load_loses_no_job_no_failure_and_no_count_p_52() -> TestResult {
    let redis = TestRedisOptions::new().appendonly(true).start()?;
    let site = Site::on(redis).await?;
    push_jobs(&site, JOBS).await?;
    let seen = Seen::default();
    let ran = seen.clone();
    let app = App::new(()).job(move |job: Numbered| {
        let ran = ran.clone();
        async move {
            if job.0.is_multiple_of(7) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            ran.add(job.0);
            if job.0.is_multiple_of(10) { Err(JobError::new("E", "tenth")) } else { Ok(()) }
        }
    });
    let worker = site.worker(app)?;
    for part in [JOBS / 4, JOBS / 2] {
        reach("some have run", || seen.len() >= part)?;
        site.redis.kill();
        site.redis.restart()?;
    }
    reach("all have run", || distinct(&seen) == JOBS)?;
    reach("everything is settled", || site.waiting("default") == 0 && site.in_progress(&worker) == 0)?;
    let failures = JOBS as i64 / 10;
    assert_eq!((site.processed(), site.failed()), (JOBS as i64 - failures, failures));
    assert_eq!((site.members("retry"), site.members("dead")), (failures, 0));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_started_before_its_redis_works_once_that_is_there_beat_07() -> TestResult {
    let redis = TestRedis::start()?;
    redis.stop();
    let seen = Seen::default();
    let worker = start_worker(&redis.url(), noting(&seen), |_| {})?;
    redis.restart()?;
    let site = Site { client: Client::connect(&RedisConfig::new(&redis.url())?).await?, redis };
    site.client.perform_async(&Numbered(1)).await?;
    reach("the run", || site.processed() == 1)?;
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_redis_never_comes_stops_when_told_beat_08_life_02() -> TestResult {
    let redis = TestRedis::start()?;
    redis.stop();
    let worker = start_worker(&redis.url(), noting(&Seen::default()), |_| {})?;
    let begun = Instant::now();
    worker.stop().await?;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_takes_jobs_again_after_its_redis_was_away_p_13_a() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    site.client.perform_async(&Numbered(1)).await?;
    reach("it works and waits", || {
        site.processed() == 1 && site.text(&["CLIENT", "LIST"]).contains("cmd=blmove")
    })?;
    site.redis.stop();
    site.redis.restart()?;
    let begun = Instant::now();
    site.push_raw("default", r#"{"class":"NumberedJob","args":[2],"queue":"default","jid":"j"}"#)?;
    reach("the run", || seen.len() == 2)?;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ended_by_an_error_begins_anew_p_13_b() -> TestResult {
    let site = Site::start().await?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    for round in 1..=3 {
        let mut waiting = None;
        reach("the worker waits", || {
            let clients = site.text(&["CLIENT", "LIST"]);
            waiting = clients.lines().find(|line| line.contains("cmd=blmove")).and_then(|line| {
                line.split_whitespace().find_map(|field| field.strip_prefix("id=").map(str::to_owned))
            });
            waiting.is_some()
        })?;
        let ended = site.int(&["CLIENT", "UNBLOCK", waiting.as_deref().unwrap_or("0"), "ERROR"]);
        assert_eq!(ended, 1);
        let begun = Instant::now();
        site.client.perform_async(&Numbered(round)).await?;
        reach("the run", || seen.len() == round)?;
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_killed_under_load_cost_no_job_no_count_and_no_second_run() -> TestResult {
    let site = Site::start().await?;
    push_jobs(&site, MANY).await?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    for cut in 1..=5 {
        reach("some have run", || seen.len() >= cut * MANY / 12)?;
        for kind in ["normal", "pubsub"] {
            site.run(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"])?;
        }
    }
    reach("all have run", || seen.len() >= MANY)?;
    assert_nothing_left(&site, &worker)?;
    assert_eq!((distinct(&seen), seen.len(), site.processed()), (MANY, MANY, MANY as i64));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgets_its_scripts_under_load_fails_no_job_p_52() -> TestResult {
    let site = Site::start().await?;
    push_jobs(&site, JOBS).await?;
    site.client.perform_in(Duration::from_millis(200), &Numbered(JOBS)).await?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    reach("all have run", || {
        let _ = site.run(&["SCRIPT", "FLUSH"]);
        site.processed() == JOBS as i64 + 1
    })?;
    assert_nothing_left(&site, &worker)?;
    assert_eq!(seen.len(), JOBS + 1);
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_redis_costs_no_job_and_no_second_run_p_13_c() -> TestResult {
    let site = Site::start().await?;
    push_jobs(&site, MANY).await?;
    let seen = Seen::default();
    let worker = site.worker(noting(&seen))?;
    reach("some have run", || seen.len() >= MANY / 20)?;
    site.redis.pause()?;
    // By then the worker has given calls up whose commands will run all the same.
    assert!(site.client.stats().await.is_err());
    assert!(seen.len() < MANY, "it was frozen under load");
    site.redis.resume()?;
    reach("all have run", || distinct(&seen) == MANY)?;
    assert_nothing_left(&site, &worker)?;
    assert_eq!((seen.len(), site.processed()), (MANY, MANY as i64));
    worker.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_server_is_demoted_goes_on_at_the_new_primary_within_10_s_p_50() -> TestResult {
    // The two wrap errors inside scripts differently.
    for version in ["6.2", "7.0"] {
        let old = TestRedisOptions::new().version(version).start()?;
        let (proxy, new) = (FaultProxy::start(&old)?, old.replica()?);
        let app = App::new(()).job(|job: Numbered| async move {
            if job.0.is_multiple_of(2) { Ok(()) } else { Err(JobError::new("E", "odd")) }
        });
        let worker = start_worker(&proxy.url(), app, |config| config.timings.beat = Duration::from_secs(2))?;
        let site = Site::on(old).await?;
        site.client.perform_async(&Numbered(0)).await?;
        site.client.perform_in(Duration::from_secs(2), &Numbered(2)).await?;
        reach("it works and waits", || {
            site.processed() == 1 && site.text(&["CLIENT", "LIST"]).contains("cmd=blmove")
        })?;
        new.promote()?;
        site.redis.demote(&new)?;
        proxy.retarget(&new)?;
        let begun = Instant::now();
        let site = Site::on(new).await?;
        // What was copied from the old server shows no beat; only one that comes here does.
        site.run(&["DEL", &worker.key("process")])?;
        for number in [1, 4] {
            site.client.perform_async(&Numbered(number)).await?;
        }
        reach("jobs run and fail, and a scheduled one comes", || {
            site.processed() == 3 && site.failed() == 1 && site.members("retry") == 1
        })?;
        reach("the heart beats", || site.int(&["EXISTS", &worker.key("process")]) == 1)?;
        assert!(begun.elapsed() < Duration::from_secs(10), "{version}: {:?}", begun.elapsed());
        worker.stop().await?;
    }
    Ok(())
}
