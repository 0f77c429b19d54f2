//! Who may do what, and over which kind of connection.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use cogworker_core::new_job::NewJob;
use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{Config, FetchMode};
use cogworker_testing::{TestCluster, TestRedis, TestRedisOptions, TestSentinelOptions};

use crate::program::Program;
use crate::round::{Stage, measured, reach};
use crate::support::{self, Numbered, Site, TestResult};

const DOCUMENTED: &str = include_str!("../../../../docs/redis-layout.md");
const DEAD: &str = "dead:1:aaaaaaaaaaaa";

/// The rules as the documentation has them.
fn documented_rules() -> String {
    const HEAD: &str = "ACL SETUSER cogworker on >PASSWORD ";
    let block = DOCUMENTED.split(HEAD).nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    block.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ")
}

/// Everything that the worker and the client do, under these rules: a round, a recovery, a damaged
/// key, looking around and deleting.
async fn everything(redis: &TestRedis, url: &str) -> TestResult {
    let orphan = r#"{"class":"NumberedJob","args":[301],"queue":"default","jid":"o"}"#;
    redis.cli(&["LPUSH", &format!("cogworker:inprogress:{DEAD}"), orphan]);
    redis.cli(&["LPUSH", "cogworker:unsettled", "unusable"]);
    redis.cli(&["SET", "cogworker:retry", "damaged"]);
    redis.cli(&["SADD", "cogworker:processes", DEAD]);
    for copy in 0..7 {
        redis.cli(&[
            "SET",
            &format!("cogworker:quarantine:cogworker:retry:170000000000{copy}:aaaaaaa{copy}"),
            "x",
        ]);
    }
    let config = RedisConfig::new(url)?;
    let stage = Stage::set(&config, |config| config.timings.check = Duration::from_millis(100)).await?;
    reach("the orphan ran", || async { Ok(stage.traces.sorted() == [301]) }).await?;
    let client = &stage.client;
    reach("the dead process is off the list", || async {
        Ok(redis.cli(&["SISMEMBER", "cogworker:processes", DEAD]) == 0)
    })
    .await?;
    let (queue, later) = (client.queue("third"), Duration::from_secs(3600));
    for number in 0..2 {
        client.push(NewJob::of(&Numbered(number)).queue("third")).await?;
        client.perform_in(later, &Numbered(number)).await?;
    }
    let raw = queue.page(0, 10).await?.entries.remove(0);
    assert!(queue.delete(&raw).await?);
    queue.clear().await?;
    let entry = client.schedule().page(0, 10).await?.entries.remove(0).raw;
    assert!(client.schedule().delete(&entry).await?);
    client.schedule().clear().await?;
    assert_eq!((client.processes().await?.len(), client.running_jobs().await?.len()), (1, 0));
    assert!(!client.throughput(2).await?.is_empty() && client.attempts("x").await?.is_empty());
    assert!(!client.redis_info().await?.is_empty() && client.redis().server_version().await?.is_some());
    stage.worker.stop().await?;
    redis.cli(&["DEL", "cogworker:stats:processed"]);
    Stage::set(&config, |_| {}).await?.play().await?;
    Ok(())
}

/// What was asked for in vain.
fn refused(redis: &TestRedis) -> Vec<String> {
    redis.cli(&["ACL", "LOG"]).items().iter().map(|entry| format!("{:?}", entry.strings())).collect()
}

fn was_called(redis: &TestRedis, command: &str) -> bool {
    redis.info(&format!("cmdstat_{command}")).is_ok_and(|stats| stats.is_some())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_rights_are_enough_and_none_is_too_many() -> TestResult {
    let rules = documented_rules();
    for version in ["6.2", "7.0", "8.2"] {
        let redis = TestRedisOptions::new().version(version).user("worker", "secret", &rules).start()?;
        let done = everything(&redis, &redis.url_of("worker").ok_or("the user is there")?).await;
        assert_eq!(refused(&redis), [""; 0], "{version}");
        done?;
        for command in rules.split_whitespace().filter_map(|rule| rule.strip_prefix('+')) {
            // Redis 6.2 counts no subcommands.
            let command =
                if version == "6.2" { command.split('|').next().unwrap_or(command) } else { command };
            assert!(was_called(&redis, command), "{command} on {version}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_database_and_basic_fetch_need_one_right_more_each() -> TestResult {
    let rules = format!("{} +select +brpop", documented_rules());
    let redis = TestRedisOptions::new().user("worker", "secret", rules).start()?;
    let url = format!("{}/1", redis.url_of("worker").ok_or("the user is there")?);
    let basic = |config: &mut Config| config.fetch = FetchMode::Basic;
    let done = Stage::set(&RedisConfig::new(&url)?, basic).await?.play().await;
    assert_eq!(refused(&redis), [""; 0]);
    done?;
    assert!(was_called(&redis, "select") && was_called(&redis, "brpop"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinel_needs_one_right_more() -> TestResult {
    let rules = format!("{} +role", documented_rules());
    let servers = TestRedisOptions::new().user("worker", "secret", rules);
    let group = TestSentinelOptions::new().redis(servers).start()?;
    let sentinel = format!("127.0.0.1:{}", group.ports()[0]);
    let url = format!("redis-sentinel://worker:secret@{sentinel}?service={}", group.service());
    let done = Stage::set(&RedisConfig::new(&url)?, |_| {}).await?.play().await;
    assert_eq!(refused(group.primary()?), [""; 0]);
    done?;
    assert!(was_called(group.primary()?, "role"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_needs_two_rights_more() -> TestResult {
    let rules = format!("{} +cluster|info +cluster|slots", documented_rules());
    let rules = rules.replace("~", "~{cog}").replace("&", "&{cog}");
    let cluster = TestCluster::start_with(TestRedisOptions::new().user("worker", "secret", rules))?;
    let node = cluster.nodes()[0].port();
    let mut config = RedisConfig::new(&format!("redis-cluster://worker:secret@127.0.0.1:{node}"))?;
    config.key_prefix = Some("{cog}".into());
    let done = Stage::set(&config, |_| {}).await;
    for node in cluster.nodes() {
        assert_eq!(refused(node), [""; 0]);
    }
    let done = done?.play().await;
    for node in cluster.nodes() {
        assert_eq!(refused(node), [""; 0]);
    }
    done?;
    Ok(())
}

/// Rights that are missing, and credentials or certificates that are wrong: the log says so at once, and
/// once they are mended the worker works without a restart.
fn says(worker: &Program, reason: &str) -> TestResult {
    let begun = Instant::now();
    support::reach("it says why", || !worker.lines(reason).is_empty())
        .map_err(|error| format!("{error}: {}", worker.process.log().join("\n")))?;
    measured(&format!("told: {reason}"), begun);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_told_and_tried_again() -> TestResult {
    let site = Site::on(TestRedisOptions::new().user("worker", "secret", "~* &* +@all").start()?).await?;
    let url = format!("redis://worker:wrong@127.0.0.1:{}", site.redis.port());
    let worker = Program::spawn(&[("REDIS_URL", &url)])?;
    says(
        &worker,
        &format!(
            "redis refuses the credentials, trying again until it takes them (connecting to redis://worker:***@127.0.0.1:{}/0: \
             failed to authenticate with redis: WRONGPASS",
            site.redis.port()
        ),
    )?;
    site.run(&["ACL", "SETUSER", "worker", ">wrong"])?;
    site.client.perform_async(&Numbered(1)).await?;
    support::reach("it works", || worker.said("ran 1") == 1)?;
    support::reach("that is told", || worker.lines("redis is back after").len() == 1)?;
    assert_eq!(worker.lines("WRONGPASS").len(), 1, "{:?}", worker.process.log());
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_password_is_told() -> TestResult {
    let redis = TestRedisOptions::new().requirepass("secret").start()?;
    let url = format!("redis://127.0.0.1:{}", redis.port());
    let worker = Program::spawn(&[("REDIS_URL", &url)])?;
    says(&worker, "NOAUTH")?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_right_is_told_and_jobs_run_as_far_as_they_can() -> TestResult {
    let options = TestRedisOptions::new().user("worker", "secret", "~* &* +@all -blmove");
    let site = Site::on(options.start()?).await?;
    let worker = Program::working(&site.redis.url_of("worker").ok_or("the user is there")?)?;
    says(&worker, "NOPERM")?;
    assert!(worker.lines("blmove").len() == worker.lines("NOPERM").len(), "{:?}", worker.lines("NOPERM"));
    site.client.perform_async(&Numbered(1)).await?;
    support::reach("it runs", || worker.said("ran 1") == 1)?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_run_over_tls_with_an_authority_of_ones_own() -> TestResult {
    let redis = TestRedisOptions::new().tls().start()?;
    let ca = redis.ca_certificate().ok_or("there is one")?.display().to_string();
    let worker = Program::spawn(&[("REDIS_URL", &redis.url()), ("SSL_CERT_FILE", &ca)])?;
    let job = r#"{"class":"NumberedJob","args":[1],"queue":"default","jid":"j"}"#;
    redis.cli(&["LPUSH", "cogworker:queue:default", job]);
    support::reach("it runs", || worker.said("ran 1") == 1)?;
    support::reach("it is counted", || redis.cli(&["GET", "cogworker:stats:processed"]) == "1")?;
    // Each of its connections has a reason of its own to be cut and made again.
    redis.restart()?;
    redis.cli(&["LPUSH", "cogworker:queue:default", &job.replace("[1]", "[2]")]);
    support::reach("it runs after a restart", || worker.said("ran 2") == 1)?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_an_unknown_authority_is_told_and_nothing_is_sent() -> TestResult {
    let (redis, other) = (TestRedisOptions::new().tls().start()?, TestRedisOptions::new().tls().start()?);
    let ca = other.ca_certificate().ok_or("there is one")?.display().to_string();
    let worker = Program::spawn(&[("REDIS_URL", &redis.url()), ("SSL_CERT_FILE", &ca)])?;
    says(&worker, "InvalidCertificate")?;
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_is_told_where_tls_is_asked_for() -> TestResult {
    let redis = TestRedis::start()?;
    let worker = Program::spawn(&[("REDIS_URL", &redis.url().replace("redis://", "rediss://"))])?;
    says(
        &worker,
        "failed to get redis' reply in time: no connection after 5s; does it speak TLS, as the url's rediss asks for?",
    )?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_tls_is_told_where_none_is_asked_for() -> TestResult {
    let redis = TestRedisOptions::new().tls().start()?;
    let worker = Program::spawn(&[("REDIS_URL", &redis.url().replace("rediss://", "redis://"))])?;
    says(&worker, "; if it speaks TLS, the url has to begin with rediss")?;
    worker.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_no_redis_is_told_over_tls_too() -> TestResult {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    for (scheme, told) in [
        ("redis", "failed to reach redis: what answers is no redis server: "),
        ("rediss", "; does it speak TLS, as the url's rediss asks for?)"),
    ] {
        let url = format!("{scheme}://127.0.0.1:{port}/0");
        let worker = Program::spawn(&[("REDIS_URL", &url)])?;
        says(
            &worker,
            &format!("redis is away, trying again until it is back (connecting to {url}: failed to "),
        )?;
        says(&worker, told)?;
        worker.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_where_nobody_listens_is_told_long_before_a_command_would_time_out() -> TestResult {
    let redis = TestRedis::start()?;
    redis.stop();
    let url = format!("redis://127.0.0.1:{}/0", redis.port());
    let worker = Program::spawn(&[("REDIS_URL", &url), ("COGWORKER_REDIS_COMMAND_TIMEOUT", "600")])?;
    says(&worker, &format!("(connecting to {url}: failed to reach redis: Connection refused)"))?;
    redis.restart()?;
    support::reach("it is over", || worker.lines("redis is back after").len() == 1)?;
    assert_eq!(worker.outages(), (1, 1), "{:?}", worker.process.log());
    worker.stop()
}
