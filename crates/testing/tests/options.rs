//! Full servers, users, TLS.

#![cfg(feature = "servers")]

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use cogworker_testing::{Fault, FaultProxy, Resp, RespValue, TestRedis, TestRedisOptions, wait_until};

const SOON: Duration = Duration::from_secs(10);

fn is_oom(reply: &RespValue) -> bool {
    matches!(reply, RespValue::Error(message) if message.starts_with("OOM"))
}

#[test]
fn a_filled_list_gives_the_first_payload_first() {
    let redis = TestRedis::start().unwrap();
    let payloads = (0..2_500).map(|number| format!("job {number}"));
    assert_eq!(redis.fill("q", payloads).unwrap(), 2_500);
    assert_eq!(redis.cli(&["RPOP", "q"]), "job 0");
    assert_eq!(redis.cli(&["LPOP", "q"]), "job 2499");
    assert_eq!(redis.fill("q", [""; 0]).unwrap(), 2_498);
}

#[test]
fn a_fill_that_is_refused_names_the_reply() {
    let redis = TestRedis::start().unwrap();
    redis.cli(&["SET", "k", "v"]);
    let message = redis.fill("k", ["v"]).unwrap_err().to_string();
    assert!(message.contains("LPUSH k") && message.contains("WRONGTYPE"), "{message}");
}

#[test]
fn while_memory_is_full_writes_fail_and_deletions_do_not_until_it_is_relieved() {
    let redis = TestRedisOptions::new().maxmemory(100_000_000).start().unwrap();
    redis.fill("q", ["job"]).unwrap();
    redis.fill_memory().unwrap();
    assert!(is_oom(&redis.cli(&["LPUSH", "q", "job"])));
    assert_eq!(redis.cli(&["LLEN", "q"]), 1);
    assert_eq!(redis.cli(&["DEL", "q"]), 1);
    assert!(is_oom(&redis.cli(&["LPUSH", "q", "job"])));
    redis.relieve_memory().unwrap();
    assert_eq!(redis.cli(&["LPUSH", "q", "job"]), 1);
    assert_eq!(redis.cli(&["CONFIG", "GET", "maxmemory"]).strings(), ["maxmemory", "100000000"]);
}

#[test]
fn a_user_may_do_what_the_rules_allow_and_the_default_user_all() {
    let redis = TestRedisOptions::new().user("worker", "secret", "~app:* +@all -flushall").start().unwrap();
    assert_eq!(redis.url_of("worker").unwrap(), format!("redis://worker:secret@127.0.0.1:{}", redis.port()));
    assert_eq!(redis.url_of("stranger"), None);
    let mut worker = Resp::tcp(redis.port(), SOON).unwrap();
    assert!(worker.command(&["AUTH", "worker", "wrong"]).unwrap().is_error());
    assert_eq!(worker.command(&["AUTH", "worker", "secret"]).unwrap(), "OK");
    assert_eq!(worker.command(&["SET", "app:k", "v"]).unwrap(), "OK");
    for forbidden in [&["SET", "k", "v"][..], &["FLUSHALL"]] {
        let reply = worker.command(forbidden).unwrap();
        assert!(matches!(&reply, RespValue::Error(message) if message.starts_with("NOPERM")), "{reply:?}");
    }
    assert_eq!(redis.cli(&["SET", "k", "v"]), "OK");
}

/// Sends a PING over TLS with the system's own client, which trusts only the given authority.
fn tls_ping(port: u16, authority: &TestRedis) -> String {
    #![expect(clippy::unwrap_used, reason = "a test without its client has failed")]
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_return_error", "-verify_ip", "127.0.0.1", "-connect"])
        .arg(format!("127.0.0.1:{port}"))
        .arg("-CAfile")
        .arg(authority.ca_certificate().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Redis closes the connection after QUIT, and so ends the client. One that trusts nobody is gone already.
    let _ = client.stdin.take().unwrap().write_all(b"PING\r\nQUIT\r\n");
    String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_tls_server_is_vouched_for_by_its_own_authority_alone() {
    let redis = TestRedisOptions::new().tls().start().unwrap();
    assert_eq!(redis.url(), format!("rediss://127.0.0.1:{}", redis.port()));
    assert_eq!(redis.cli(&["PING"]), "PONG");
    assert!(Resp::tcp(redis.port(), SOON).unwrap().command(&["PING"]).is_err());
    assert_eq!(tls_ping(redis.port(), &redis), "+PONG\r\n+OK\r\n");
    let other = TestRedisOptions::new().tls().start().unwrap();
    assert_eq!(tls_ping(redis.port(), &other), "");
    assert_eq!(TestRedis::start().unwrap().ca_certificate(), None);
}

#[test]
fn tls_passes_through_a_fault_proxy() {
    let redis = TestRedisOptions::new().tls().start().unwrap();
    let proxy = FaultProxy::start(&redis).unwrap();
    assert_eq!(tls_ping(proxy.port(), &redis), "+PONG\r\n+OK\r\n");
    proxy.set(Fault::Refuse);
    assert_eq!(tls_ping(proxy.port(), &redis), "");
    assert_eq!((proxy.connections_seen(), proxy.requests_seen()), (2, 0));
}

#[test]
fn a_replica_of_a_tls_server_speaks_tls_with_the_same_authority() {
    let redis = TestRedisOptions::new().tls().start().unwrap();
    let replica = redis.replica().unwrap();
    redis.cli(&["SET", "k", "v"]);
    assert!(wait_until(SOON, || replica.in_sync_with(&redis).unwrap()));
    assert_eq!(tls_ping(replica.port(), &redis), "+PONG\r\n+OK\r\n");
}

#[test]
fn a_field_of_info_is_found_by_its_whole_name() {
    let redis = TestRedis::start().unwrap();
    assert_eq!(redis.info("tcp_port").unwrap(), Some(redis.port().to_string()));
    assert_eq!(redis.info("tcp").unwrap(), None);
}
