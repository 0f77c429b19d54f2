//! Old and new servers: the same round on each, and basic fetch where reliable fetch cannot be.

use std::error::Error;

use cogworker_core::redis_config::RedisConfig;
use cogworker_testing::{TestRedis, TestRedisOptions};

use crate::program::Program;
use crate::round::Stage;
use crate::support::{Site, TestResult, Text, reach};

const DEAD: &str = "dead:1:aaaaaaaaaaaa";

fn server(version: &str) -> Result<TestRedis, Box<dyn Error>> {
    Ok(TestRedisOptions::new().version(version).start()?)
}

async fn a_round_on(version: &str) -> TestResult {
    let redis = server(version)?;
    assert!(redis.info("redis_version")?.unwrap_or_default().starts_with(version));
    Stage::set(&RedisConfig::new(&redis.url())?, |_| {}).await?.play().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_on_redis_6_0_by_basic_fetch_mode_02_mode_07() -> TestResult {
    a_round_on("6.0").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_on_redis_6_2_mode_02_mode_08() -> TestResult {
    a_round_on("6.2").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_on_redis_7_0_mode_02_mode_08() -> TestResult {
    a_round_on("7.0").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_on_redis_8_2_mode_02_mode_08() -> TestResult {
    a_round_on("8.2").await
}

fn job(number: usize) -> String {
    format!(r#"{{"class":"NumberedJob","args":[{number}],"queue":"default","jid":"j{number}"}}"#)
}

fn calls(site: &Site, command: &str) -> u64 {
    let stats = site.redis.info(&format!("cmdstat_{command}")).ok().flatten().unwrap_or_default();
    stats.split(',').find_map(|field| field.strip_prefix("calls=")?.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis_6_0_a_worker_warns_and_never_keeps_a_list_mode_03_mode_07_orph_16() -> TestResult {
    let site = Site::on(server("6.0")?).await?;
    site.run(&["SADD", "cogworker:inprogress_identities", DEAD])?;
    site.run(&["LPUSH", &format!("cogworker:inprogress:{DEAD}"), &job(1)])?;
    site.run(&["LPUSH", "cogworker:inprogress:unregistered:1:aaaaaaaaaaaa", &job(2)])?;
    let worker = Program::working(&site.redis.url())?;
    reach("the dead process's job runs", || worker.said("ran 1") == 1)?;
    site.push_raw("default", job(3))?;
    reach("a pushed job runs", || worker.said("ran 3") == 1)?;
    site.client.perform_async(&Text("held".into())).await?;
    reach("a job is running", || worker.said("waits") == 1)?;
    let lists = site.texts(&["KEYS", "cogworker:inprogress*"]);
    assert_eq!(lists, ["cogworker:inprogress:unregistered:1:aaaaaaaaaaaa"], "while a job runs");
    assert_eq!((worker.said("ran 2"), calls(&site, "blmove")), (0, 0));
    worker.open_gate()?;
    reach("all are counted", || site.processed() == 3)?;
    let warnings = worker.lines("falling back to basic");
    assert!(warnings.len() == 1 && warnings[0].contains("WARN"), "{warnings:?}");
    assert!(worker.lines("ERROR").is_empty(), "{:?}", worker.lines("ERROR"));
    worker.stop()
}

/// The worker believes the server to be recent; its first wait tells better.
async fn falls_back_at_the_first_wait(site: &Site, url: &str) -> TestResult {
    let worker = Program::working(url)?;
    reach("it falls back", || !worker.lines("falling back to basic").is_empty())?;
    for number in 1..=20 {
        site.push_raw("default", job(number))?;
        reach("the job runs", || worker.said(&format!("ran {number}")) == 1)?;
    }
    reach("all are counted", || site.processed() == 20)
        .map_err(|error| format!("{error}: {}; {}", site.processed(), worker.process.log().join("\n")))?;
    assert_eq!(site.int(&["EXISTS", &format!("cogworker:inprogress:{}", worker.identity)]), 0);
    assert_eq!(worker.lines("falling back to basic").len(), 1, "{:?}", worker.process.log());
    worker.stop()?;
    assert_eq!(site.processed(), 20);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_6_0_that_may_not_be_asked_is_found_out_at_the_first_wait_mode_06_mode_07() -> TestResult {
    let options = TestRedisOptions::new().version("6.0");
    let site = Site::on(options.user("worker", "secret", "~* +@all -info").start()?).await?;
    let url = site.redis.url_of("worker").ok_or("the user is there")?;

    falls_back_at_the_first_wait(&site, &url).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recent_server_without_blmove_means_basic_fetch_and_one_line_mode_06() -> TestResult {
    for version in ["6.2", "7.0", "8.2"] {
        let options = TestRedisOptions::new().version(version).arg("--rename-command").arg("BLMOVE").arg("");
        let site = Site::on(options.start()?).await?;
        let url = site.redis.url();
        falls_back_at_the_first_wait(&site, &url).await?;
    }
    Ok(())
}
