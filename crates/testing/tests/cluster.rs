//! Clusters.

#![cfg(feature = "servers")]

use std::collections::HashSet;
use std::fs;

use cogworker_testing::{RespValue, TestCluster, TestRedis, TestRedisOptions};

fn starts_with(reply: &RespValue, word: &str) -> bool {
    matches!(reply, RespValue::Error(message) if message.starts_with(word))
}

#[test]
fn a_cluster_serves_every_key_on_the_node_that_holds_it_and_the_others_point_there() {
    let cluster = TestCluster::start().unwrap();
    assert_eq!((cluster.nodes().len(), cluster.urls().len()), (3, 3));
    let mut used = HashSet::new();
    for number in 0..50 {
        let key = format!("key {number}");
        let node = cluster.node_of(&key).unwrap();
        assert_eq!(node.cli(&["SET", &key, "v"]), "OK");
        used.insert(node.port());
        let other = cluster.nodes().iter().find(|other| other.port() != node.port()).unwrap();
        let reply = other.cli(&["GET", &key]);
        assert!(
            matches!(&reply, RespValue::Error(text) if text.starts_with("MOVED ")
            && text.ends_with(&format!(" 127.0.0.1:{}", node.port()))),
            "{reply:?}"
        );
    }
    assert_eq!(used.len(), 3);
    assert_eq!(
        cluster.node_of("{tag}:a").unwrap().port(),
        cluster.node_of("{tag}:b").unwrap().port(),
        "a hash tag decides alone"
    );
    assert!(starts_with(&cluster.nodes()[0].cli(&["MGET", "a", "b", "c"]), "CROSSSLOT"));
}

#[test]
fn a_cluster_recovers_when_a_killed_node_is_back() {
    let cluster = TestCluster::start_with(TestRedisOptions::new().requirepass("secret")).unwrap();
    let node = cluster.node_of("key").unwrap();
    node.kill();
    assert_eq!(cluster.node_of("key").unwrap().port(), node.port(), "those that live say where it was");
    node.restart().unwrap();
    cluster.wait_until_ok().unwrap();
    assert_eq!(node.cli(&["SET", "key", "v"]), "OK");
}

#[test]
fn the_nodes_of_a_tls_cluster_share_an_authority() {
    let cluster = TestCluster::start_with(TestRedisOptions::new().tls()).unwrap();
    let authority = |node: &TestRedis| fs::read(node.ca_certificate().unwrap()).unwrap();
    let nodes = cluster.nodes();
    assert!(nodes.iter().all(|node| node.url().starts_with("rediss://")));
    assert!(nodes.iter().all(|node| authority(node) == authority(&nodes[0])));
}
