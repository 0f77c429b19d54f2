//! A Redis Cluster: everything of an installation happens on the node that has its prefix's slot.

use std::error::Error;
use std::time::Duration;

use crate::support::{ME, Outcome, list, walk_keys};
use cogworker_core::keys::KeyType;
use cogworker_core::redis::Redis;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts;
use cogworker_testing::{TestRedis, TestRedisOptions, wait_until};

/// Two nodes that share the slots between them.
fn start_cluster() -> Result<[TestRedis; 2], Box<dyn Error>> {
    let node = || TestRedisOptions::new().arg("--cluster-enabled").arg("yes").start();
    let nodes = [node()?, node()?];
    for (node, slots) in nodes.iter().zip([0..8192, 8192..16384]) {
        let mut add = vec!["CLUSTER".to_owned(), "ADDSLOTS".to_owned()];
        add.extend(slots.map(|slot| slot.to_string()));
        node.cli(&add);
    }
    nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &nodes[1].port().to_string()]);
    let has_joined = |node: &TestRedis| {
        let info = node.cli(&["CLUSTER", "INFO"]);
        let says = |text: &str| info.as_str().is_some_and(|info| info.contains(text));
        says("cluster_state:ok") && says("cluster_known_nodes:2")
    };
    if !wait_until(Duration::from_secs(20), || nodes.iter().all(has_joined)) {
        return Err("the nodes did not join".into());
    }
    Ok(nodes)
}

#[tokio::test]
async fn scripts_run_and_search_on_the_node_that_has_the_prefixs_slot() -> Outcome {
    let nodes = start_cluster()?;
    // Whichever node a prefix belongs to.
    for (prefix, owner) in [("{a}", &nodes[1]), ("{c}", &nodes[0])] {
        let mut config = RedisConfig::new(&format!("redis-cluster://127.0.0.1:{}", nodes[0].port()))?;
        config.key_prefix = Some(prefix.into());
        let redis = Redis::connect(&config).await?;
        let keys = redis.keys();

        owner.cli(&["LPUSH", &keys.queue("{other}"), "job"]);
        owner.cli(&["ZADD", &keys.dead(), "1", "entry"]);
        assert_eq!(scripts::fetch_jobs(&redis, ME, &["{other}"], 1).await?.count(), 1, "{prefix}");
        assert_eq!(list(owner, &keys.inprogress(ME)), ["job"]);
        assert_eq!(scripts::read_totals(&redis).await?.dead, Some(1));

        owner.cli(&["SET", &keys.queue("{other}"), "x"]);
        let damaged = [(keys.queue("{other}"), KeyType::List)];
        let copy = scripts::quarantine_keys(&redis, &damaged).await?.remove(0).moved_to?;
        assert_eq!(walk_keys(&redis, &keys.quarantine_pattern(), 10).await?, [copy].into());
    }
    Ok(())
}
