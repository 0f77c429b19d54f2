//! Groups of servers with Sentinel.

#![cfg(feature = "servers")]

use std::time::Duration;

use cogworker_testing::{Resp, TestRedisOptions, TestSentinel, TestSentinelOptions, wait_until};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_failover_makes_the_replica_the_primary_and_the_old_one_its_replica() {
    let group = TestSentinel::start().unwrap();
    let old = group.primary().unwrap();
    old.cli(&["SET", "k", "v"]);
    assert!(wait_until(SOON, || group.replicas().unwrap()[0].in_sync_with(old).unwrap()));
    let new = group.failover().unwrap();
    assert_ne!(new.port(), old.port());
    assert_eq!(group.replicas().unwrap()[0].port(), old.port());
    assert_eq!(new.cli(&["APPEND", "k", "+"]), 2);
    assert!(old.cli(&["SET", "k", "v"]).is_error());
    assert!(wait_until(SOON, || old.in_sync_with(new).unwrap()));
    // And back again; the role that Sentinel gave a server outlasts its restart.
    assert_eq!(group.failover().unwrap().port(), old.port());
    assert_eq!(old.cli(&["GET", "k"]), "v+");
    for (server, role) in [(new, "slave"), (old, "master")] {
        server.restart().unwrap();
        assert_eq!(server.info("role").unwrap().unwrap(), role);
    }
}

#[test]
fn three_sentinels_replace_a_primary_that_died_and_any_of_them_names_the_new_one() {
    let group = TestSentinelOptions::new().replicas(2).sentinels(3).start().unwrap();
    assert_eq!((group.servers().len(), group.urls().len()), (3, 3));
    let dead = group.kill_primary().unwrap();
    assert!(!dead.is_running());
    group.kill_sentinel(0);
    let new = group.wait_for_failover(dead).unwrap();
    assert_ne!(new.port(), dead.port());
    assert_eq!(new.cli(&["SET", "k", "v"]), "OK");
    assert!(Resp::tcp(group.ports()[0], SOON).is_err());
    for port in &group.ports()[1..] {
        let mut sentinel = Resp::tcp(*port, SOON).unwrap();
        let address = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", group.service()]).unwrap();
        assert_eq!(address.strings(), ["127.0.0.1".to_owned(), new.port().to_string()]);
    }
}

#[test]
fn servers_with_a_password_fail_over_too() {
    let redis = TestRedisOptions::new().requirepass("secret");
    let group = TestSentinelOptions::new().redis(redis).start().unwrap();
    let new = group.failover().unwrap();
    assert!(new.url().starts_with("redis://:secret@"));
    assert_eq!(new.cli(&["SET", "k", "v"]), "OK");
}
