//! Replicas and changes of role.

#![cfg(feature = "servers")]

use std::time::Duration;

use cogworker_testing::{FaultProxy, Resp, RespValue, TestRedis, TestRedisOptions, wait_until};

const SOON: Duration = Duration::from_secs(10);

fn is_readonly(reply: &RespValue) -> bool {
    matches!(reply, RespValue::Error(message) if message.starts_with("READONLY"))
}

#[test]
fn a_replica_has_the_data_refuses_writes_and_follows() {
    let redis = TestRedis::start().unwrap();
    redis.cli(&["SET", "k", "before"]);
    let replica = redis.replica().unwrap();
    assert_ne!(replica.port(), redis.port());
    assert_eq!(replica.cli(&["GET", "k"]), "before");
    assert!(is_readonly(&replica.cli(&["SET", "k", "v"])));
    redis.cli(&["SET", "k", "after"]);
    assert!(wait_until(SOON, || replica.in_sync_with(&redis).unwrap()));
    assert_eq!(replica.cli(&["GET", "k"]), "after");
    assert!(!redis.in_sync_with(&replica).unwrap());
}

#[test]
fn after_a_change_of_roles_old_connections_to_the_demoted_server_get_readonly_and_new_ones_work() {
    let old = TestRedis::start().unwrap();
    let proxy = FaultProxy::start(&old).unwrap();
    let new = old.replica().unwrap();
    let mut standing = Resp::tcp(proxy.port(), SOON).unwrap();
    assert_eq!(standing.command(&["SET", "k", "1"]).unwrap(), "OK");
    assert!(wait_until(SOON, || new.in_sync_with(&old).unwrap()));
    new.promote().unwrap();
    old.demote(&new).unwrap();
    proxy.retarget(&new).unwrap();
    assert!(is_readonly(&standing.command(&["SET", "k", "2"]).unwrap()));
    assert_eq!(Resp::tcp(proxy.port(), SOON).unwrap().command(&["INCR", "k"]).unwrap(), 2);
    assert!(wait_until(SOON, || old.in_sync_with(&new).unwrap()));
    assert_eq!(old.cli(&["GET", "k"]), "2");
}

#[test]
fn a_restarted_server_keeps_its_role() {
    let redis = TestRedis::start().unwrap();
    let replica = redis.replica().unwrap();
    redis.cli(&["SET", "k", "v"]);
    replica.restart().unwrap();
    assert!(wait_until(SOON, || replica.in_sync_with(&redis).unwrap()));
    assert_eq!(replica.cli(&["GET", "k"]), "v");
    replica.promote().unwrap();
    replica.restart().unwrap();
    assert_eq!(replica.info("role").unwrap().unwrap(), "master");
}

#[test]
fn a_replica_is_as_guarded_as_its_primary() {
    let redis = TestRedisOptions::new().requirepass("secret").start().unwrap();
    let replica = redis.replica().unwrap();
    assert!(Resp::tcp(replica.port(), SOON).unwrap().command(&["GET", "k"]).unwrap().is_error());
    assert!(replica.url().starts_with("redis://:secret@"));
}
