//! `processes`, `quiet`, `resume` and `stop`, of records and of real workers.

use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;
use cogworker_server::{App, Config, Server};
use cogworker_testing::wait_until;

use crate::support::{Outcome, Site};

const INFO: &str = r#"{"hostname":"h","pid":4711,"concurrency":10,"queues":["default","default","low"],"started_at":1000.5,"rss_kb":20480}"#;

#[test]
fn processes_are_shown_with_weights_memory_and_state() -> Outcome {
    let site = Site::start()?;
    assert_eq!(site.run(&["processes"])?.done(), "no process is running\n");
    site.process("h:4711:aaaaaaaaaaaa", INFO, "3", "true");
    site.process("by-hand", "{}", "0", "false");
    let shown = site.run(&["processes"])?;
    let lines: Vec<&str> = shown.done().lines().collect();
    assert!(
        lines[0].starts_with("IDENTITY             BUSY  SLOTS  STATE    MEMORY  STARTED (UTC)"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "by-hand                 0      0");
    assert!(lines[2].starts_with("h:4711:aaaaaaaaaaaa     3     10  quiet  20.0 MiB  "), "{lines:?}");
    assert!(
        lines[2].ends_with("d ago (1970-01-01 00:16:40)  default,2 low")
            || lines[2].ends_with("h ago (1970-01-01 00:16:40)  default,2 low"),
        "{lines:?}"
    );
    let json = site.run(&["processes", "--json"])?;
    let expected = r#"{"identity":"h:4711:aaaaaaaaaaaa","hostname":"h","pid":4711,"concurrency":10,"busy":3,"quiet":true,"queues":["default","default","low"],"started_at":1000.5,"rss_kb":20480}"#;
    assert_eq!(json.done().lines().nth(1), Some(expected));
    Ok(())
}

#[test]
fn a_process_is_named_by_identity_its_beginning_or_pid_and_an_unknown_one_is_an_error() -> Outcome {
    let site = Site::start()?;
    site.run(&["quiet", "all"])?.failed(1, "cogworker: no process is running");
    site.process("h:1:aa", r#"{"pid":1}"#, "0", "false");
    site.process("h:2:bb", r#"{"pid":2}"#, "7", "false");
    for command in ["quiet", "resume", "stop"] {
        site.run(&[command, "nope", "--yes"])?
            .failed(1, "cogworker: no such process: nope; see cogworker processes");
        site.run(&[command, "h:", "--yes"])?.failed(1, "cogworker: h: may be any of h:1:aa, h:2:bb");
        site.run(&[command, "", "--yes"])?.failed(1, "cogworker: no such process: ; see cogworker processes");
    }
    for who in ["h:2:bb", "h:2", "2"] {
        let mut channel = site.redis.connect()?;
        channel.command(&["SUBSCRIBE", "cogworker:signal:h:2:bb"])?;
        assert_eq!(site.run(&["quiet", who])?.done(), "h:2:bb: told to quiet\n");
        assert_eq!(channel.read()?.strings()[2], "quiet");
    }
    site.run(&["stop", "h:2:bb"])?.failed(
        4,
        "cogworker: would stop h:2:bb (running 7 jobs): there is no terminal to ask on, so add --yes to do it",
    );
    let deaf = site.run(&["stop", "all", "--yes", "--json"])?;
    assert_eq!(deaf.code, 1, "{deaf:?}");
    assert_eq!(deaf.lines()[0], r#"{"identity":"h:1:aa","told":"stop","heard":false}"#);
    assert_eq!(
        deaf.err,
        "cogworker: not heard by h:1:aa, h:2:bb: it may have just died, or be reconnecting\n"
    );
    Ok(())
}

#[test]
fn a_real_worker_is_seen_quieted_resumed_and_stopped_pset_03() -> Outcome {
    let site = Site::start()?;
    let config = Config::builder().queue("q", 1).redis(RedisConfig::new(&site.redis.url())?).build()?;
    let worker = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let server = Server::new(config, App::new(()));
        runtime.block_on(server.run(std::future::pending::<()>())).map_err(std::io::Error::other)
    });
    let seen = |wanted: &str| {
        let seen = || site.run(&["processes", "--json"]).is_ok_and(|ran| ran.out.contains(wanted));
        assert!(wait_until(Duration::from_secs(20), seen), "{wanted}");
    };
    seen("\"quiet\":false");
    let told = |command: &str| {
        let told = || site.run(&[command, "all", "--yes"]).is_ok_and(|ran| ran.code == 0);
        assert!(wait_until(Duration::from_secs(20), told), "{command}");
    };
    told("quiet");
    seen("\"quiet\":true");
    told("resume");
    seen("\"quiet\":false");
    assert_eq!(site.run(&["doctor"])?.code, 0);
    told("stop");
    worker.join().map_err(|_| "the worker panicked")??;
    assert_eq!(site.run(&["processes"])?.done(), "no process is running\n");
    Ok(())
}
