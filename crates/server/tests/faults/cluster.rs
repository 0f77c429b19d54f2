//! A Redis Cluster of three nodes: all keys of an installation share one slot by their prefix.

use std::time::{Duration, Instant};

use cogworker_client::Client;
use cogworker_core::redis::Call;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts;
use cogworker_server::{App, Config, Server};
use cogworker_testing::{TestCluster, TestRedisOptions};

use crate::round::{Stage, measured, reach};
use crate::support::{self, Numbered, TestResult};

/// Longest from the return of a node to the next run.
const RESUMED: Duration = Duration::from_secs(10);
const DEAD: &str = "dead:1:aaaaaaaaaaaa";
const UNKNOWN: &str = "unknown:1:aaaaaaaaaaaa";

fn config(cluster: &TestCluster, prefix: &str) -> Result<RedisConfig, Box<dyn std::error::Error>> {
    let hosts: Vec<_> = cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let mut config = RedisConfig::new(&format!("redis-cluster://{}", hosts.join(",")))?;
    config.key_prefix = Some(prefix.into());
    Ok(config)
}

/// A prefix for each node, so that no test passes because a command went to the right one by chance.
fn prefixes(cluster: &TestCluster) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut ports = Vec::new();
    let mut prefixes = Vec::new();
    for number in 0..100 {
        let prefix = format!("{{cog{number}}}");
        let port = cluster.node_of(&prefix)?.port();
        if !ports.contains(&port) {
            ports.push(port);
            prefixes.push(prefix);
        }
    }
    assert_eq!(prefixes.len(), cluster.nodes().len());
    Ok(prefixes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_on_every_node_of_a_cluster() -> TestResult {
    let cluster = TestCluster::start()?;
    for prefix in prefixes(&cluster)? {
        let redis = config(&cluster, &prefix)?;
        let client = Client::connect(&redis).await?;
        let keys = client.redis().keys();
        let orphan = |number: usize| {
            format!(r#"{{"class":"NumberedJob","args":[{number}],"queue":"default","jid":"o{number}"}}"#)
        };
        for (identity, number) in [(DEAD, 301), (UNKNOWN, 302)] {
            let call = Call::new().key(keys.inprogress(identity)).arg(orphan(number));
            client.redis().command("LPUSH", call).await?;
        }
        client.redis().command("SADD", Call::new().key(keys.inprogress_identities()).arg(DEAD)).await?;
        client.redis().command("SET", Call::new().key(keys.retry()).arg("damaged")).await?;

        let stage = Stage::set(&redis, |config| {
            config.timings.check = Duration::from_millis(200);
            config.timings.beat = Duration::from_millis(100);
        })
        .await?;
        reach("orphans are recovered, found by the registry and by a search", || async {
            Ok(stage.traces.sorted() == [301, 302])
        })
        .await?;
        let copies = keys.quarantine_pattern();
        reach("the damaged key was moved away", || async {
            Ok(scripts::scan_keys(client.redis(), &copies, 0, 1000).await?.found.len() == 1)
        })
        .await?;
        let listening = ["PUBSUB", "NUMSUB", &keys.signal_channel(&stage.worker.identity)];
        support::reach("it listens, on whichever node", || {
            let counts = cluster.nodes().iter().filter_map(|node| node.command(&listening).ok());
            counts.filter(|reply| reply.strings().get(1).is_some_and(|count| count == "1")).count() == 1
        })?;
        quiet_and_resume(&stage).await?;

        let identity = stage.worker.identity.clone();
        let totals = stage.totals().await?;
        assert_eq!(totals, [2, 0, 0, 0], "{prefix}");
        stage.worker.stop().await?;
        assert!(client.processes().await?.iter().all(|process| process.identity != identity));
        client.redis().command("DEL", Call::new().key(keys.stats_processed())).await?;
        Stage::set(&redis, |_| {}).await?.play().await?;
    }
    Ok(())
}

/// Through the channel, heard on whichever node; and quiet at once, though a wait is under way.
async fn quiet_and_resume(stage: &Stage) -> TestResult {
    let mine = || async {
        let processes = stage.client.processes().await?;
        Ok(processes.into_iter().find(|process| process.identity == stage.worker.identity))
    };
    reach("it lives", || async { Ok(mine().await?.is_some()) }).await?;
    let process = mine().await?.ok_or("it lives")?;
    process.quiet().await?;
    reach("it is quiet", || async { Ok(mine().await?.is_some_and(|process| process.quiet)) }).await?;
    process.resume().await?;
    reach("it works again", || async { Ok(mine().await?.is_some_and(|process| !process.quiet)) }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_without_a_hash_tag_is_refused_before_anything_is_written() -> TestResult {
    let cluster = TestCluster::start()?;
    for prefix in ["", "cog:", "{}", "{cog"] {
        let redis = config(&cluster, prefix)?;
        let refused = Config::builder().redis(redis.clone()).build();
        let text = refused.as_ref().map(|_| ()).map_err(ToString::to_string).unwrap_err();
        assert!(text.contains("hash tag"), "{text}");
        assert!(Client::connect(&redis).await.is_err_and(|error| error.to_string().contains("hash tag")));
        assert!(Client::connect_lazily(&redis).is_err_and(|error| error.to_string().contains("hash tag")));

        let mut config = Config::builder().build()?;
        config.redis = redis;
        let app = App::new(()).job(|_: Numbered| async {});
        let ended = Server::new(config, app).run(std::future::pending()).await;
        assert!(ended.as_ref().is_err_and(|error| error.to_string().contains("hash tag")), "{ended:?}");
    }
    for node in cluster.nodes() {
        assert_eq!(node.cli(&["DBSIZE"]), 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_and_comes_back_is_worked_with_again() -> TestResult {
    let options = TestRedisOptions::new().appendonly(true).arg("--appendfsync").arg("always");
    let cluster = TestCluster::start_with(options)?;
    let redis = config(&cluster, "{cog}")?;
    let owner = cluster.node_of("{cog}")?;
    let stage = Stage::set(&redis, |config| config.timings.beat = Duration::from_millis(200)).await?;
    stage.client.push_bulk(&(0..1000).map(Numbered).collect::<Vec<_>>()).await?;
    support::reach("some ran", || stage.traces.numbers.len() > 100)?;
    owner.kill();
    let failing = stage.client.perform_async(&Numbered(5000)).await;
    assert!(failing.is_err(), "{failing:?}");
    owner.restart()?;
    cluster.wait_until_ok()?;
    let begun = Instant::now();
    while stage.client.perform_async(&Numbered(1000)).await.is_err() {
        assert!(begun.elapsed() < RESUMED);
    }
    support::reach("it runs", || stage.traces.numbers.all().contains(&1000))?;
    let took = measured("cluster: the node with the keys was killed and restarted", begun);
    assert!(took < RESUMED, "{took:?}");
    reach("all are counted", || async { Ok(stage.totals().await? == [1001, 0, 0, 0]) }).await?;
    let mut numbers = stage.traces.sorted();
    numbers.dedup();
    assert_eq!(numbers, (0..=1000).collect::<Vec<_>>());
    reach("nothing is in progress", || async { Ok(stage.in_progress().await? == 0) }).await?;
    stage.worker.stop().await
}
