//! The fault proxy before real servers.

#![cfg(feature = "servers")]

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cogworker_testing::{Fault, FaultProxy, Resp, RespError, RespValue, TestRedis, wait_until};

const SOON: Duration = Duration::from_secs(10);

/// How long a client waits for a reply that is not to come.
const BRIEFLY: Duration = Duration::from_millis(50);

fn servers() -> (TestRedis, FaultProxy) {
    #![expect(clippy::unwrap_used, reason = "a test without its server has failed")]
    let redis = TestRedis::start().unwrap();
    let proxy = FaultProxy::start(&redis).unwrap();
    (redis, proxy)
}

fn kind(outcome: Result<RespValue, RespError>) -> Option<ErrorKind> {
    match outcome {
        Ok(_) => None,
        Err(error) => {
            error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind)
        }
    }
}

fn assert_cut(outcome: Result<RespValue, RespError>) {
    let found = kind(outcome);
    assert!(
        matches!(found, Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)),
        "{found:?}"
    );
}

#[test]
fn requests_and_replies_pass_and_are_counted() {
    let (redis, proxy) = servers();
    assert_eq!(proxy.url(), format!("redis://127.0.0.1:{}", proxy.port()));
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    assert_eq!(client.command(&["SET", "k", "v"]).unwrap(), "OK");
    assert_eq!(client.command(&["LRANGE", "none", "0", "-1"]).unwrap(), RespValue::Array(vec![]));
    assert_eq!(redis.cli(&["GET", "k"]), "v");
    assert_eq!((proxy.connections(), proxy.connections_seen(), proxy.requests_seen()), (1, 1, 2));
    drop(client);
    assert!(wait_until(SOON, || proxy.connections() == 0));
    assert_eq!(proxy.connections_seen(), 1);
}

#[test]
fn a_swallowed_reply_leaves_its_request_done_and_its_connection_open_until_the_fault_ends() {
    let (redis, proxy) = servers();
    let mut client = Resp::tcp(proxy.port(), BRIEFLY).unwrap();
    client.command(&["PING"]).unwrap();
    proxy.set(Fault::SwallowReplies);
    assert_eq!(kind(client.command(&["SET", "k", "v"])), Some(ErrorKind::WouldBlock));
    assert!(wait_until(SOON, || proxy.replies_lost() == 1));
    assert_eq!(redis.cli(&["GET", "k"]), "v");
    assert_eq!(proxy.connections(), 1);
    proxy.set(Fault::Pass);
    assert_eq!(proxy.connections(), 0);
    assert_cut(client.command(&["PING"]));
    assert_eq!(Resp::tcp(proxy.port(), SOON).unwrap().command(&["GET", "k"]).unwrap(), "v");
}

#[test]
fn a_connection_that_lost_nothing_outlives_swallowed_replies() {
    let (_redis, proxy) = servers();
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    client.command(&["PING"]).unwrap();
    proxy.set(Fault::SwallowReplies);
    proxy.set(Fault::Pass);
    assert_eq!(client.command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn a_black_hole_holds_everything_back_until_it_ends() {
    let (redis, proxy) = servers();
    let mut client = Resp::tcp(proxy.port(), BRIEFLY).unwrap();
    client.command(&["PING"]).unwrap();
    proxy.set(Fault::BlackHole);
    assert_eq!(kind(client.command(&["SET", "k", "v"])), Some(ErrorKind::WouldBlock));
    let mut later = Resp::tcp(proxy.port(), BRIEFLY).unwrap();
    assert_eq!(kind(later.command(&["SET", "l", "v"])), Some(ErrorKind::WouldBlock));
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    assert_eq!(proxy.connections(), 2);
    proxy.set(Fault::Pass);
    assert!(wait_until(SOON, || redis.cli(&["DBSIZE"]) == 2));
    assert_eq!(client.read().unwrap(), "OK");
}

#[test]
fn in_a_black_hole_the_server_does_not_learn_that_a_client_is_gone() {
    let (redis, proxy) = servers();
    let clients = || redis.cli(&["CLIENT", "LIST", "TYPE", "normal"]).as_str().unwrap().lines().count();
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    client.command(&["PING"]).unwrap();
    assert_eq!(clients(), 2);
    proxy.set(Fault::BlackHole);
    drop(client);
    // The proxy has been through its loop since: it accepts this one.
    let _later = Resp::tcp(proxy.port(), SOON).unwrap();
    assert!(wait_until(SOON, || proxy.connections() == 2));
    assert!(wait_until(SOON, || clients() == 3));
    proxy.cut();
    assert!(wait_until(SOON, || clients() == 1));
}

#[test]
fn what_a_cut_black_hole_held_is_lost() {
    let (redis, proxy) = servers();
    let mut client = Resp::tcp(proxy.port(), BRIEFLY).unwrap();
    client.command(&["PING"]).unwrap();
    proxy.set(Fault::BlackHole);
    assert_eq!(kind(client.command(&["SET", "k", "v"])), Some(ErrorKind::WouldBlock));
    proxy.cut();
    proxy.set(Fault::Pass);
    assert_cut(client.read());
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
}

#[test]
fn a_connection_that_the_server_ends_ends_in_order() {
    let (_redis, proxy) = servers();
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    client.write_all(b"PING\r\nQUIT\r\n").unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    assert_eq!(replies, "+PONG\r\n+OK\r\n");
}

#[test]
fn only_new_connections_are_refused() {
    let (_redis, proxy) = servers();
    let mut old = Resp::tcp(proxy.port(), SOON).unwrap();
    old.command(&["PING"]).unwrap();
    proxy.set(Fault::Refuse);
    let mut new = Resp::tcp(proxy.port(), SOON).unwrap();
    assert_cut(new.command(&["PING"]));
    assert!(wait_until(SOON, || proxy.connections_seen() == 2));
    assert_eq!(old.command(&["PING"]).unwrap(), "PONG");
    proxy.set(Fault::Pass);
    assert_eq!(Resp::tcp(proxy.port(), SOON).unwrap().command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn a_cut_resets_every_connection_and_new_ones_work() {
    let (_redis, proxy) = servers();
    let mut clients: Vec<Resp> = (0..3).map(|_| Resp::tcp(proxy.port(), SOON).unwrap()).collect();
    for client in &mut clients {
        client.command(&["PING"]).unwrap();
    }
    proxy.cut();
    assert_eq!(proxy.connections(), 0);
    for client in &mut clients {
        assert_eq!(kind(client.read()), Some(ErrorKind::ConnectionReset));
    }
    assert_eq!(Resp::tcp(proxy.port(), SOON).unwrap().command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn after_a_retarget_new_connections_reach_the_other_server_and_old_ones_stay() {
    let (first, proxy) = servers();
    let second = TestRedis::start().unwrap();
    let mut old = Resp::tcp(proxy.port(), SOON).unwrap();
    old.command(&["PING"]).unwrap();
    proxy.retarget(&second).unwrap();
    let mut new = Resp::tcp(proxy.port(), SOON).unwrap();
    new.command(&["SET", "from", "new"]).unwrap();
    old.command(&["SET", "from", "old"]).unwrap();
    assert_eq!(first.cli(&["GET", "from"]), "old");
    assert_eq!(second.cli(&["GET", "from"]), "new");
}

#[test]
fn a_cut_before_the_reply_leaves_a_write_done_once_and_its_client_unsure() {
    let (redis, proxy) = servers();
    let mut other = Resp::tcp(proxy.port(), SOON).unwrap();
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    proxy.cut_before_reply_to(b"counter");
    assert_eq!(client.command(&["PING"]).unwrap(), "PONG");
    assert_cut(client.command(&["INCR", "counter"]));
    assert_eq!(redis.cli(&["GET", "counter"]), "1");
    assert_eq!((proxy.replies_lost(), proxy.requests_seen()), (1, 2));
    // Once only, and only there.
    assert_eq!(other.command(&["INCR", "counter"]).unwrap(), 2);
}

#[test]
fn in_a_pipeline_earlier_replies_arrive_and_later_requests_are_lost() {
    let (redis, proxy) = servers();
    proxy.cut_before_reply_to(b"SET b");
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    client.write_all(b"SET a 1\r\nGET a\r\nSET b 2\r\nSET c 3\r\n").unwrap();
    let mut replies = [0; 12];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(&replies, b"+OK\r\n$1\r\n1\r\n");
    assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(redis.cli(&["MGET", "a", "b"]).strings(), ["1", "2"]);
    assert_eq!(redis.cli(&["EXISTS", "c"]), 0);
}

#[test]
fn an_element_popped_for_a_reply_that_is_lost_is_gone() {
    let (redis, proxy) = servers();
    proxy.cut_before_reply_to(b"BLPOP");
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    let popped = std::thread::spawn(move || client.command(&["BLPOP", "list", "0"]));
    let blocked =
        || redis.cli(&["INFO", "clients"]).as_str().is_some_and(|text| text.contains("blocked_clients:1"));
    assert!(wait_until(SOON, blocked));
    redis.cli(&["RPUSH", "list", "element"]);
    assert_cut(popped.join().unwrap());
    assert_eq!(redis.cli(&["LLEN", "list"]), 0);
}

#[test]
fn a_client_that_leaves_while_its_reply_is_to_be_lost_leaves_the_server_too() {
    let (redis, proxy) = servers();
    proxy.cut_before_reply_to(b"BLPOP");
    let mut client = Resp::tcp(proxy.port(), BRIEFLY).unwrap();
    assert_eq!(kind(client.command(&["BLPOP", "list", "0"])), Some(ErrorKind::WouldBlock));
    drop(client);
    assert!(wait_until(SOON, || proxy.connections() == 0));
    assert_eq!(redis.cli(&["RPUSH", "list", "element"]), 1);
    assert_eq!(redis.cli(&["LLEN", "list"]), 1);
}

#[test]
fn a_cut_before_the_request_keeps_it_from_the_server() {
    let (redis, proxy) = servers();
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    proxy.cut_before_request(b"counter");
    assert_cut(client.command(&["INCR", "counter"]));
    assert_eq!(redis.cli(&["EXISTS", "counter"]), 0);
    assert_eq!((proxy.requests_lost(), proxy.requests_seen(), proxy.replies_lost()), (1, 0, 0));
}

#[test]
fn a_server_that_is_down_is_down_behind_the_proxy_and_comes_back() {
    let (redis, proxy) = servers();
    let mut client = Resp::tcp(proxy.port(), SOON).unwrap();
    client.command(&["PING"]).unwrap();
    redis.stop();
    assert_cut(client.read());
    assert_cut(Resp::tcp(proxy.port(), SOON).unwrap().command(&["PING"]));
    redis.restart().unwrap();
    assert_eq!(Resp::tcp(proxy.port(), SOON).unwrap().command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn many_megabytes_in_both_directions_at_once_arrive_whole() {
    let (_redis, proxy) = servers();
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    let payload = "x".repeat(100_000);
    let echo = format!("*2\r\n$4\r\nECHO\r\n${}\r\n{payload}\r\n", payload.len());
    let reply_length = format!("${}\r\n{payload}\r\n", payload.len()).len();
    let mut reader = client.try_clone().unwrap();
    let read = std::thread::spawn(move || {
        let mut replies = vec![0; 100 * reply_length];
        reader.read_exact(&mut replies).map(|()| replies)
    });
    for _ in 0..100 {
        client.write_all(echo.as_bytes()).unwrap();
    }
    let replies = read.join().unwrap().unwrap();
    assert!(replies.ends_with(b"xx\r\n"));
    assert_eq!(proxy.requests_seen(), 100);
}

#[test]
fn a_dropped_proxy_ends_its_connections_and_frees_its_port() {
    let (_redis, proxy) = servers();
    let port = proxy.port();
    let mut client = Resp::tcp(port, SOON).unwrap();
    client.command(&["PING"]).unwrap();
    drop(proxy);
    assert_cut(client.read());
    // A process that another test starts this moment holds our sockets open until it runs its program.
    assert!(wait_until(SOON, || matches!(Resp::tcp(port, SOON), Err(RespError::Connect { .. }))));
}
