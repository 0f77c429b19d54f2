//! Private Redis servers: start, outages, options, clean-up.

#![cfg(feature = "servers")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cogworker_testing::{RedisBinary, Resp, RespError, RespValue, TestRedis, TestRedisOptions, wait_until};

const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_fresh_server_is_empty_and_answers_over_tcp_and_over_its_socket() {
    let redis = TestRedis::start().unwrap();
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    assert_eq!(redis.cli(&["SET", "k", "v"]), "OK");
    let mut tcp = Resp::tcp(redis.port(), SOON).unwrap();
    assert_eq!(tcp.command(&["GET", "k"]).unwrap(), "v");
    assert_eq!(redis.url(), format!("redis://127.0.0.1:{}", redis.port()));
    assert_eq!(redis.unix_url(), format!("redis+unix://{}", redis.socket().display()));
}

#[test]
fn the_process_id_is_the_servers_own() {
    let redis = TestRedis::start().unwrap();
    let info = redis.cli(&["INFO", "server"]);
    let line = format!("process_id:{}\r\n", redis.pid().unwrap());
    assert!(info.as_str().unwrap().contains(&line), "{info:?}");
}

#[test]
fn a_server_starts_in_a_fraction_of_a_second() {
    // The first start may fetch the program, and a busy machine may delay any: one of twenty has to be quick.
    RedisBinary::locate().unwrap();
    let start = || {
        let begin = Instant::now();
        let _redis = TestRedis::start().unwrap();
        begin.elapsed()
    };
    let times: Vec<_> = (0..20).map(|_| start()).collect();
    assert!(times.iter().any(|time| *time < Duration::from_millis(100)), "{times:?}");
}

#[test]
fn many_servers_started_at_once_are_separate() {
    thread::scope(|scope| {
        let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| TestRedis::start().unwrap())).collect();
        let servers: Vec<_> = starts.into_iter().map(|start| start.join().unwrap()).collect();
        for (number, redis) in servers.iter().enumerate() {
            assert_eq!(redis.cli(&["RPUSH", "own", &number.to_string()]), 1);
        }
    });
}

#[test]
fn a_dropped_server_is_gone_with_its_folder() {
    let redis = TestRedis::start().unwrap();
    let (port, folder) = (redis.port(), redis.folder().to_owned());
    drop(redis);
    assert!(matches!(Resp::tcp(port, SOON), Err(RespError::Connect { .. })));
    assert!(!folder.exists());
}

#[test]
fn a_stopped_server_cannot_be_reached_and_comes_back_empty_on_the_same_port() {
    let redis = TestRedis::start().unwrap();
    let (port, url) = (redis.port(), redis.url());
    redis.cli(&["SET", "k", "v"]);
    redis.stop();
    assert!(!redis.is_running());
    assert_eq!(redis.pid(), None);
    assert!(matches!(redis.command(&["PING"]), Err(RespError::Connect { .. })));
    redis.restart().unwrap();
    assert!(redis.is_running());
    assert_eq!((redis.port(), redis.url()), (port, url));
    assert_eq!(redis.cli(&["GET", "k"]), RespValue::Nil);
    assert_eq!(Resp::tcp(port, SOON).unwrap().command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn data_survive_a_kill_with_the_append_only_file_and_only_with_it() {
    for (appendonly, kept) in [(true, RespValue::Bulk(b"v".to_vec())), (false, RespValue::Nil)] {
        let redis = TestRedisOptions::new().appendonly(appendonly).start().unwrap();
        redis.cli(&["SET", "k", "v"]);
        let before = redis.pid();
        redis.kill();
        assert!(!redis.is_running());
        redis.restart().unwrap();
        assert_ne!(redis.pid(), before);
        assert_eq!(redis.cli(&["GET", "k"]), kept);
    }
}

#[test]
fn restart_replaces_a_running_server() {
    let redis = TestRedis::start().unwrap();
    let before = redis.pid();
    redis.restart().unwrap();
    assert!(redis.pid().is_some() && redis.pid() != before);
}

#[test]
fn a_paused_server_keeps_its_connections_but_answers_only_when_resumed() {
    let redis = TestRedis::start().unwrap();
    let mut connection = Resp::unix(&redis.socket(), Duration::from_millis(50)).unwrap();
    redis.pause().unwrap();
    assert!(matches!(connection.command(&["INCR", "n"]), Err(RespError::Io(_))));
    assert!(redis.is_running());
    redis.resume().unwrap();
    assert!(wait_until(SOON, || redis.cli(&["GET", "n"]) == "1"));
}

#[test]
fn a_paused_server_can_be_stopped() {
    let redis = TestRedis::start().unwrap();
    redis.pause().unwrap();
    let begin = Instant::now();
    redis.stop();
    assert!(!redis.is_running());
    assert!(begin.elapsed() < Duration::from_secs(4), "it had to be killed");
}

#[test]
fn a_stopped_server_takes_no_signal() {
    let redis = TestRedis::start().unwrap();
    redis.stop();
    assert!(redis.pause().is_err());
    assert!(redis.resume().is_err());
}

#[test]
fn flush_removes_data_and_scripts() {
    let redis = TestRedis::start().unwrap();
    redis.cli(&["SET", "k", "v"]);
    let sha = redis.cli(&["SCRIPT", "LOAD", "return 1"]);
    let sha = sha.as_str().unwrap();
    redis.flush().unwrap();
    assert_eq!(redis.cli(&["DBSIZE"]), 0);
    assert!(redis.cli(&["EVALSHA", sha, "0"]).is_error());
}

#[test]
fn a_password_is_demanded_and_is_part_of_the_urls() {
    let redis = TestRedisOptions::new().requirepass("secret").start().unwrap();
    let mut stranger = Resp::tcp(redis.port(), SOON).unwrap();
    assert!(stranger.command(&["GET", "k"]).unwrap().is_error());
    assert_eq!(redis.cli(&["GET", "k"]), RespValue::Nil);
    assert!(redis.url().starts_with("redis://:secret@127.0.0.1:"));
    assert!(redis.unix_url().starts_with("redis+unix://:secret@"));
    redis.restart().unwrap();
}

#[test]
fn a_full_server_refuses_writes() {
    let redis = TestRedisOptions::new().maxmemory(1).start().unwrap();
    let reply = redis.cli(&["SET", "k", "v"]);
    assert!(matches!(&reply, RespValue::Error(message) if message.starts_with("OOM")), "{reply:?}");
}

#[test]
fn an_extra_argument_reaches_the_server_and_a_wrong_one_shows_in_the_error() {
    let redis = TestRedisOptions::new().arg("--databases").arg("3").start().unwrap();
    assert_eq!(redis.cli(&["CONFIG", "GET", "databases"]).strings(), ["databases", "3"]);
    let error = TestRedisOptions::new().arg("--no-such-option").arg("1").start().unwrap_err();
    assert!(error.to_string().contains("no-such-option"), "{error}");
}

#[test]
fn a_fixed_port_that_is_taken_is_an_error() {
    let first = TestRedis::start().unwrap();
    let error = TestRedisOptions::new().port(first.port()).start().unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(first.cli(&["PING"]), "PONG");
}

#[test]
fn the_client_program_runs_where_there_is_one() {
    let redis = TestRedis::start().unwrap();
    let Some(cli) = redis.binary().cli() else { return };
    let output = Command::new(cli).arg("-s").arg(redis.socket()).arg("PING").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "PONG\n");
}

#[test]
fn a_connection_reads_messages_that_come_by_themselves() {
    let redis = TestRedis::start().unwrap();
    let mut subscriber = redis.connect().unwrap();
    subscriber.command(&["SUBSCRIBE", "c"]).unwrap();
    assert_eq!(redis.cli(&["PUBLISH", "c", "hello"]), 1);
    assert_eq!(subscriber.read().unwrap().strings(), ["message", "c", "hello"]);
}

/// Not a claim of its own: the process that the next test kills.
#[test]
#[ignore = "runs until it is killed; started by another test"]
fn start_a_server_and_wait_to_be_killed() {
    let redis = TestRedis::start().unwrap();
    println!("\nserver {} {}", redis.port(), redis.folder().display());
    loop {
        thread::park();
    }
}

#[test]
fn a_server_ends_with_its_folder_when_the_test_process_is_killed() {
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "start_a_server_and_wait_to_be_killed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(test.stdout.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.starts_with("server ")).unwrap();
    let [_, port, folder] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let port = port.parse().unwrap();
    Resp::tcp(port, SOON).unwrap();
    test.kill().unwrap();
    test.wait().unwrap();
    assert!(wait_until(SOON, || Resp::tcp(port, SOON).is_err()), "the server lives on");
    assert!(wait_until(SOON, || !Path::new(folder).exists()), "the folder was left behind");
}
