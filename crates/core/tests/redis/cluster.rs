//! A Redis Cluster: everything of an installation happens on the node that has its prefix's slot.

use std::collections::HashSet;
use std::time::Duration;

use crate::support::{ME, Outcome, list, walk_keys};
use cogworker_core::keys::{KeySpace, KeyType};
use cogworker_core::redis::Redis;
use cogworker_core::redis_config::RedisConfig;
use cogworker_core::scripts::{self, Held, Push};
use cogworker_testing::TestCluster;

#[tokio::test]
async fn scripts_run_and_search_on_the_node_that_has_the_prefixs_slot() -> Outcome {
    let cluster = TestCluster::start()?;
    let mut seen = HashSet::new();
    for prefix in ["{a}", "{b}", "{c}", "{d}"] {
        let keys = KeySpace::with_prefix(prefix);
        let owner = cluster.node_of(&keys.queues())?;
        seen.insert(owner.port());
        let mut config =
            RedisConfig::new(&format!("redis-cluster://127.0.0.1:{}", cluster.nodes()[0].port()))?;
        config.key_prefix = Some(prefix.into());
        let redis = Redis::connect(&config).await?;

        owner.cli(&["LPUSH", &keys.queue("{other}"), "job"]);
        owner.cli(&["ZADD", &keys.dead(), "1", "entry"]);
        assert_eq!(
            scripts::fetch_jobs(&redis, ME, Held::Listed, &["{other}"], 1).await?.count(),
            1,
            "{prefix}"
        );
        assert_eq!(list(owner, &keys.inprogress(ME)), ["job"]);
        assert_eq!(scripts::read_totals(&redis).await?.dead, Some(1));

        let job = Push {
            payload: b"unique".to_vec(),
            jid: "j".into(),
            class: "A".into(),
            queue: "{third}".into(),
            at: None,
            lock: Some((keys.unique("{digest}"), 10)),
        };
        assert_eq!(scripts::push_jobs(&redis, vec![job], Some(Duration::from_secs(9))).await?.pushed, [true]);
        assert_eq!(list(owner, &keys.queue("{third}")), ["unique"]);
        assert_eq!(owner.cli(&["EXISTS", &keys.unique("{digest}"), &keys.status("j")]), 2);

        owner.cli(&["SET", &keys.queue("{other}"), "x"]);
        let damaged = [(keys.queue("{other}"), KeyType::List)];
        let copy = scripts::quarantine_keys(&redis, &damaged).await?.remove(0).moved_to?;
        assert_eq!(walk_keys(&redis, &keys.quarantine_pattern(), 10).await?, [copy].into());
    }
    assert_eq!(seen.len(), 3, "every node had its turn");
    Ok(())
}
