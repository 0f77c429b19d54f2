//! What is refused, and how that is told.

use std::path::Path;

use cogworker_server::cli;
use cogworker_server::config::EnvVars;
use proptest::prelude::*;

use crate::given::{given, without_file};

#[test]
fn p_59_each_error_in_the_file_names_file_line_key_expected_and_found() {
    let known = "concurrency, queues, fetch, fetch_idle_max_interval, orphan_threshold, max_orphanings, \
        unique_lock_ttl, periodic_catch_up, shutdown_timeout, logfile, log_format, health_bind, redis, redis_key_prefix, \
        redis_connect_timeout, redis_command_timeout";
    let queue_name =
        "a queue name of 1 to 255 bytes without commas, control characters or spaces at its ends";
    for (file, expected) in [
        ("a: 1", format!("c.yml:1: unknown key \"a\", expected one of {known}")),
        ("\n:concurency: 1", "c.yml:2: unknown key \"concurency\", did you mean concurrency?".into()),
        ("rediss: {url: redis://h}", "c.yml:1: unknown key \"rediss\", did you mean redis?".into()),
        ("test:\n  fetsch: basic", "c.yml:2: unknown key \"test.fetsch\", did you mean fetch?".into()),
        ("redis:\n  hots: h", "c.yml:2: unknown key \"redis.hots\", did you mean host?".into()),
        ("concurrency: lots", "c.yml:1: concurrency: expected a whole number from 1 to 65536, found \"lots\"".into()),
        ("concurrency: 0", "c.yml:1: concurrency: expected a whole number from 1 to 65536, found 0".into()),
        ("concurrency: 1.5", "c.yml:1: concurrency: expected a whole number from 1 to 65536, found 1.5".into()),
        ("concurrency: 010", "c.yml:1: concurrency: expected a whole number from 1 to 65536, found 010".into()),
        ("concurrency: [1]", "c.yml:1: concurrency: expected a whole number from 1 to 65536, found a list".into()),
        ("log_format: xml", "c.yml:1: log_format: expected text or json, found \"xml\"".into()),
        ("health_bind: 7433", "c.yml:1: health_bind: expected an IP address and a port such as 127.0.0.1:7433, found 7433".into()),
        ("health_bind: localhost:7433", "c.yml:1: health_bind: expected an IP address and a port such as 127.0.0.1:7433, found \"localhost:7433\"".into()),
        ("fetch_idle_max_interval: 0", "c.yml:1: fetch_idle_max_interval: expected seconds from 0.001 to 3600, found 0".into()),
        ("fetch_idle_max_interval: soon", "c.yml:1: fetch_idle_max_interval: expected seconds from 0.001 to 3600, found \"soon\"".into()),
        ("orphan_threshold: -1", "c.yml:1: orphan_threshold: expected seconds from 0.001 to 2592000, found -1".into()),
        ("a:\nconcurrency: 1", format!("c.yml:1: unknown key \"a\", expected one of {known}")),
        ("orphan_threshold:", "c.yml:1: orphan_threshold: expected seconds from 0.001 to 2592000, found nil".into()),
        ("orphan_threshold: .inf", "c.yml:1: orphan_threshold: expected seconds from 0.001 to 2592000, found \".inf\"".into()),
        ("max_orphanings: 0", "c.yml:1: max_orphanings: expected a whole number from 1 to 1000000, found 0".into()),
        ("max_orphanings: 2.5", "c.yml:1: max_orphanings: expected a whole number from 1 to 1000000, found 2.5".into()),
        ("unique_lock_ttl: 0.5", "c.yml:1: unique_lock_ttl: expected seconds from 1 to 316224000, found 0.5".into()),
        ("shutdown_timeout: 25000000", "c.yml:1: shutdown_timeout: expected seconds from 0 to 86400, found 25000000".into()),
        ("periodic_catch_up: maybe", "c.yml:1: periodic_catch_up: expected true or false, found \"maybe\"".into()),
        ("fetch: safe", "c.yml:1: fetch: expected reliable or basic, found \"safe\"".into()),
        ("fetch: ~", "c.yml:1: fetch: expected reliable or basic, found nil".into()),
        ("queues: a", "c.yml:1: queues: expected a list of queue names, found \"a\"".into()),
        ("queues: []", "c.yml:1: queues: expected at least one queue, found none".into()),
        ("queues: [\"\"]", format!("c.yml:1: queues: expected {queue_name}, found an empty name")),
        ("queues: [\" a\"]", format!("c.yml:1: queues: expected {queue_name}, found \" a\"")),
        ("queues: [{a: 2}]", "c.yml:1: queues: expected a queue name, found a map".into()),
        ("queues:\n- [a, 0]", "c.yml:1: queues: expected a weight from 1 to 1000, found 0".into()),
        (
            "queues: [default, 3]",
            "c.yml:1: queues: expected a queue name (a weight goes with it: NAME,WEIGHT), found 3".into(),
        ),
        ("queues: [[a, b, c]]", "c.yml:1: queues: expected a queue name and a weight, found 3 values".into()),
        ("environment: x", "c.yml:1: environment: expected it to be set by -e, APP_ENV, RAILS_ENV or RACK_ENV, as it selects a section of the file, found it in the file".into()),
        (":fetch: basic\nfetch: basic", "c.yml:2: fetch: expected the key once, found it again (first on line 1)".into()),
        ("redis: {key_prefix: a}\nredis_key_prefix: b", "c.yml:2: redis_key_prefix: expected the key once, found it again (first on line 1)".into()),
        ("redis: http://h", "c.yml:1: redis: scheme: expected one of redis://, rediss://, redis+unix://, unix://, redis-sentinel://, redis-cluster:// (or valkey in place of redis), found \"http\"".into()),
        ("redis:\n  host: h\n  port: x", "c.yml:3: redis.port: expected a whole number from 1 to 65535, found \"x\"".into()),
        ("redis:\n  host: ~", "c.yml:2: redis.host: expected a host name or address, found nil".into()),
        ("redis:\n  url: redis://h\n  host: h", "c.yml:3: redis.host: expected nothing, as url is given, found host as well".into()),
        ("redis:\n  sentinels: [a]", "c.yml:2: redis: service: expected ?service=NAME, the name of the primary that the sentinels watch, found none".into()),
        ("redis:\n  cluster: [a]", "c.yml:2: redis: key_prefix: expected a prefix with a hash tag such as \"{cogworker}\", as a cluster needs all keys in one slot, found none".into()),
        ("redis:\n  command_timeout: 0", "c.yml:2: redis.command_timeout: expected seconds from 0.001 to 600, found 0".into()),
        ("- a", "c.yml:1: the file: expected a map of settings, found a list".into()),
        ("a: [", "c.yml:1: expected YAML, found unclosed bracket '['".into()),
        ("a: 1\n---\nb: 2", "c.yml:3: expected YAML, found multiple YAML documents detected".into()),
        ("\nconcurrency: <%= `id` %>", "c.yml: line 2: <%= `id` %>: unexpected '`'".into()),
    ] {
        assert_eq!(given(file).error(), expected, "{file}");
    }
}

#[test]
fn p_59_a_missing_file_is_an_error() {
    let given = without_file().args(&["-C", "none.yml"]);
    assert_eq!(given.error(), "configuration file none.yml: No such file or directory (os error 2)");
    let given = without_file().args(&["-C", "/dev/zero"]);
    assert_eq!(given.error(), "configuration file /dev/zero: larger than 1048576 bytes");
    let given = without_file().args(&["-C", "."]);
    assert_eq!(given.error(), "configuration file .: Is a directory (os error 21)");
}

#[test]
fn p_59_each_error_in_the_environment_names_the_variable() {
    let error = |name, value| without_file().env(&[(name, value)]).error();
    assert_eq!(
        error("COGWORKER_ORPHAN_THRESHOLD", "-1"),
        "env COGWORKER_ORPHAN_THRESHOLD: orphan_threshold: expected seconds from 0.001 to 2592000, found -1"
    );
    assert_eq!(
        error("COGWORKER_QUEUES", "a,,b"),
        "env COGWORKER_QUEUES: queues: expected a queue name of 1 to 255 bytes without commas, control \
         characters or spaces at its ends, found an empty name"
    );
    assert_eq!(
        error("REDIS_URL", "redis://:s3cret@h:port"),
        "env REDIS_URL: redis: port: expected a number from 1 to 65535, found text that is not a number"
    );
    assert_eq!(
        error("REDIS_URL", "redis-cluster://h"),
        "env REDIS_URL: redis: key_prefix: expected a prefix with a hash tag such as \"{cogworker}\", as a cluster \
         needs all keys in one slot, found none"
    );
    assert_eq!(
        error("COGWORKER_ORPHAN_TRESHOLD", "60"),
        "env COGWORKER_ORPHAN_TRESHOLD: unknown key \"orphan_treshold\", did you mean the variable \
         COGWORKER_ORPHAN_THRESHOLD?"
    );
    assert_eq!(
        error("COGWORKER_REDIS_URL", "redis://h"),
        "env COGWORKER_REDIS_URL: unknown key \"redis_url\", did you mean the variable REDIS_URL?"
    );
    assert_eq!(
        error("RAILS_ENV", "a b"),
        "env RAILS_ENV: environment: expected a name of 1 to 64 printable characters without spaces, found \"a b\""
    );
}

#[test]
fn variables_of_the_swarm_and_of_container_platforms_are_no_error() {
    let given = without_file().env(&[
        ("COGWORKER_COUNT", "2"),
        ("COGWORKER_MEMORY_LIMIT", "500"),
        ("COGWORKER_BOOT_TIMEOUT", "60"),
        ("COGWORKER_SWARM_CHILD", "1"),
        ("COGWORKER_RELOAD", "true"),
        ("COGWORKER_PORT", "tcp://10.0.0.1:80"),
        ("COGWORKER_SERVICE_HOST", "10.0.0.1"),
        ("COGWORKER_REDIS_PORT", "tcp://10.0.0.1:6379"),
        ("COGWORKER_REDIS_SERVICE_HOST", "10.0.0.1"),
    ]);
    assert_eq!(given.config(), without_file().config());
}

#[test]
fn a_variable_that_is_not_unicode_is_an_error() {
    use std::os::unix::ffi::OsStringExt;
    let env: EnvVars = [("COGWORKER_FETCH", std::ffi::OsString::from_vec(vec![0xff]))].into_iter().collect();
    let error = cli::load(["worker"], &env, Path::new(".")).unwrap_err().to_string();
    assert_eq!(error, "env COGWORKER_FETCH: fetch: expected unicode text, found other bytes");
}

proptest! {
    #[test]
    fn any_file_is_loaded_or_refused_without_a_panic(file in "(:?[a-z]{1,8}: ?[-\\[\\]{}a-z0-9:'\"&*<>%=|#\n ]{0,30}\n?){0,6}", text in any::<String>()) {
        let _ = given(&file).load();
        let _ = given(&text).load();
    }

    #[test]
    fn any_password_passes_through_the_file_unchanged(password in "[^\u{0}]{1,20}") {
        let given = given("redis: {password: <%= ENV['PW'] %>}\n");
        let env: EnvVars = [("PW", password.clone())].into_iter().collect();
        let loaded = cli::load(&given.args, &env, given.dir.path()).unwrap();
        prop_assert_eq!(loaded.config.redis.password, Some(password));
    }
}
