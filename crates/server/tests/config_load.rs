//! The layers, their order and their errors.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic fails the test")]

use std::path::Path;
use std::time::Duration;

use cogworker_core::redis_config::{HostPort, Topology};
use cogworker_server::cli::{self, Loaded};
use cogworker_server::config::{EnvVars, Key, Source};
use cogworker_server::{Config, FetchMode, LogFormat, exit_code};
use proptest::prelude::*;

/// A folder with one configuration file, and the variables and flags beside it.
struct Given {
    dir: tempfile::TempDir,
    env: Vec<(&'static str, &'static str)>,
    args: Vec<&'static str>,
}

fn given(file: &str) -> Given {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("c.yml"), file).unwrap();
    Given { dir, env: Vec::new(), args: vec!["worker", "-C", "c.yml"] }
}

fn without_file() -> Given {
    Given { dir: tempfile::tempdir().unwrap(), env: Vec::new(), args: vec!["worker"] }
}

impl Given {
    fn env(mut self, vars: &[(&'static str, &'static str)]) -> Self {
        self.env.extend(vars);
        self
    }

    fn args(mut self, args: &[&'static str]) -> Self {
        self.args.extend(args);
        self
    }

    fn load(&self) -> Result<Loaded, cli::Error> {
        cli::load(&self.args, &self.env.iter().copied().collect(), self.dir.path())
    }

    fn loaded(&self) -> Loaded {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    fn config(&self) -> Config {
        self.loaded().config
    }

    fn error(&self) -> String {
        let error = self.load().expect_err("refused");
        assert_eq!(error.exit_code(), exit_code::CONFIGURATION);
        error.to_string()
    }
}

#[test]
fn conf_12_without_anything_the_defaults_count() {
    let loaded = without_file().loaded();
    assert_eq!(loaded.config, Config::builder().build().unwrap());
    let config = loaded.config;
    assert_eq!(config.concurrency, 10);
    assert_eq!(config.queues, ["default"]);
    assert_eq!(config.fetch, FetchMode::Reliable);
    assert_eq!(config.fetch_idle_max_interval, Duration::from_secs(1));
    assert_eq!(config.orphan_threshold, Duration::from_secs(300));
    assert_eq!(config.max_orphanings, 3);
    assert_eq!(config.unique_lock_ttl, Duration::from_secs(86_400));
    assert!(config.periodic_catch_up);
    assert_eq!(config.shutdown_timeout, Duration::from_secs(25));
    assert_eq!(config.environment, "development");
    assert_eq!(config.logfile, None);
    assert_eq!(config.redis.to_string(), "redis://127.0.0.1:6379/0");
    for key in Key::ALL {
        assert_eq!(loaded.sources.get(key), Source::Default, "{key}");
    }
}

#[test]
fn p_59_an_empty_file_leaves_the_defaults() {
    for file in ["", "\n", "---\n", "# nothing\n", "---\n# nothing\n", "{}", "production:\n"] {
        assert_eq!(given(file).config(), without_file().config(), "{file:?}");
    }
}

#[test]
fn conf_04_the_readmes_file_loads() {
    let file = "---\n\
        :concurrency: <%= ENV[\"CONCURRENCY\"] || 5 %>\n\
        :queues:\n  - default\n  - default   # repeating a queue sets its weight: default is polled twice as often as low\n  - low\n\
        :fetch: reliable   # or basic — see \"Fetch modes\" below\n";
    let config = given(file).config();
    assert_eq!(config.concurrency, 5);
    assert_eq!(config.queues, ["default", "default", "low"]);
    assert_eq!(config.fetch, FetchMode::Reliable);
    assert_eq!(given(file).env(&[("CONCURRENCY", "7")]).config().concurrency, 7);
}

#[test]
fn conf_04_expressions_symbols_and_repeated_queues_are_read() {
    let config = given(":concurrency: <%= 1 + 2 %>\n:queues: [b, :a, b]\n:fetch: :basic\n").config();
    assert_eq!(config.concurrency, 3);
    assert_eq!(config.queues, ["b", "a", "b"]);
    assert_eq!(config.fetch, FetchMode::Basic);
}

#[test]
fn each_key_is_read_with_and_without_a_colon() {
    let file = "concurrency: 4\nqueues: [a]\nfetch: basic\nfetch_idle_max_interval: 0.5\norphan_threshold: 60\n\
        max_orphanings: 5\nunique_lock_ttl: 3600\nperiodic_catch_up: no\nshutdown_timeout: 8\nlogfile: log/w.log\nlog_format: json\n\
        health_bind: \"[::1]:7433\"\nredis: redis://h/3\nredis_key_prefix: \"p:\"\nredis_connect_timeout: 2\nredis_command_timeout: 3\n";
    let with_colons: String = file.lines().map(|line| format!(":{line}\n")).collect();
    let plain = given(file);
    let config = plain.config();
    assert_eq!(config.concurrency, 4);
    assert_eq!(config.fetch_idle_max_interval, Duration::from_millis(500));
    assert_eq!(config.orphan_threshold, Duration::from_secs(60));
    assert_eq!(config.max_orphanings, 5);
    assert_eq!(config.unique_lock_ttl, Duration::from_secs(3600));
    assert!(!config.periodic_catch_up);
    assert_eq!(config.shutdown_timeout, Duration::from_secs(8));
    assert_eq!(config.logfile, Some(plain.dir.path().join("log/w.log")));
    assert_eq!(config.log_format, LogFormat::Json);
    assert_eq!(config.health_bind.unwrap().to_string(), "[::1]:7433");
    assert_eq!(config.redis.to_string(), "redis://h:6379/3");
    assert_eq!(config.redis.key_prefix.as_deref(), Some("p:"));
    assert_eq!(config.redis.connect_timeout, Duration::from_secs(2));
    assert_eq!(config.redis.command_timeout, Duration::from_secs(3));
    let mut other = given(&with_colons).config();
    other.logfile = config.logfile.clone();
    assert_eq!(other, config);
}

#[test]
fn each_key_is_read_from_its_variable() {
    let given = without_file().env(&[
        ("COGWORKER_CONCURRENCY", "4"),
        ("COGWORKER_QUEUES", "a, b,b"),
        ("COGWORKER_FETCH", "basic"),
        ("COGWORKER_FETCH_IDLE_MAX_INTERVAL", "0.5"),
        ("COGWORKER_ORPHAN_THRESHOLD", "60"),
        ("COGWORKER_MAX_ORPHANINGS", "5"),
        ("COGWORKER_UNIQUE_LOCK_TTL", "3600"),
        ("COGWORKER_PERIODIC_CATCH_UP", "false"),
        ("COGWORKER_SHUTDOWN_TIMEOUT", "0"),
        ("COGWORKER_LOGFILE", "/srv/w.log"),
        ("COGWORKER_LOG_FORMAT", "json"),
        ("COGWORKER_HEALTH_BIND", "0.0.0.0:80"),
        ("REDIS_URL", "redis://h/3"),
        ("COGWORKER_REDIS_KEY_PREFIX", "p:"),
        ("COGWORKER_REDIS_CONNECT_TIMEOUT", "2"),
        ("COGWORKER_REDIS_COMMAND_TIMEOUT", "3"),
    ]);
    let Loaded { config, sources, .. } = given.loaded();
    assert_eq!(config.concurrency, 4);
    assert_eq!(config.queues, ["a", "b", "b"]);
    assert_eq!(config.fetch, FetchMode::Basic);
    assert_eq!(config.orphan_threshold, Duration::from_secs(60));
    assert_eq!(config.max_orphanings, 5);
    assert!(!config.periodic_catch_up);
    assert_eq!(config.shutdown_timeout, Duration::ZERO);
    assert_eq!(config.logfile.as_deref(), Some(Path::new("/srv/w.log")));
    assert_eq!(config.redis.to_string(), "redis://h:6379/3");
    assert_eq!(config.redis.command_timeout, Duration::from_secs(3));
    for key in Key::ALL.into_iter().filter(|key| *key != Key::Environment) {
        let var = key.env_var().unwrap().to_owned();
        assert_eq!(sources.get(key), Source::Env { var }, "{key}");
    }
}

#[test]
fn p_59_a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let file = "concurrency: 2\nproduction:\n  concurrency: 3\n";
    let seen = |given: Given| {
        let loaded = given.loaded();
        (loaded.config.concurrency, loaded.sources.get(Key::Concurrency).to_string())
    };
    let var = ("COGWORKER_CONCURRENCY", "4");
    let production = ["-e", "production"];
    assert_eq!(seen(without_file()), (10, "default".into()));
    assert_eq!(seen(given(file)), (2, "c.yml:1".into()));
    assert_eq!(seen(given(file).args(&production)), (3, "c.yml:3".into()));
    assert_eq!(seen(given(file).args(&production).env(&[var])), (4, "env COGWORKER_CONCURRENCY".into()));
    assert_eq!(
        seen(given(file).args(&production).args(&["-c", "5"]).env(&[var])),
        (5, "flag --concurrency".into())
    );
}

#[test]
fn a_variable_that_is_set_but_empty_counts_as_not_set() {
    let config = given("concurrency: 2\n").env(&[("COGWORKER_CONCURRENCY", ""), ("APP_ENV", "")]).config();
    assert_eq!((config.concurrency, config.environment.as_str()), (2, "development"));
}

#[test]
fn the_section_of_the_environment_overlays_the_rest() {
    let file = "concurrency: 1\nqueues: [a]\ndefaults: &defaults\n  max_orphanings: 9\n\
        production:\n  <<: *defaults\n  concurrency: 2\n:staging:\n  :concurrency: <%= ENV.fetch('NONE') %>\n";
    let config = given(file).args(&["-e", "production"]).config();
    assert_eq!((config.concurrency, config.max_orphanings), (2, 9));
    assert_eq!(config.queues, ["a"]);
    assert_eq!(given(file).config().concurrency, 1);
    assert_eq!(
        given(file).args(&["-e", "staging"]).error(),
        "c.yml: line 9: <%= ENV.fetch('NONE') %>: the variable NONE is not set"
    );
}

#[test]
fn conf_10_conf_11_the_file_sees_the_chosen_environment() {
    let file = "<%= ENV['RACK_ENV'] %>:\n  concurrency: 3\n";
    let config = given(file).env(&[("RAILS_ENV", "production")]).config();
    assert_eq!((config.environment.as_str(), config.concurrency), ("production", 3));
    let config = given(file).env(&[("RAILS_ENV", "production")]).args(&["-e", "test"]).config();
    assert_eq!((config.environment.as_str(), config.concurrency), ("test", 3));
}

#[test]
fn no_value_of_a_variable_changes_the_structure_of_the_file() {
    let file = "redis:\n  host: h\n  password: <%= ENV['PW'] %>\nlogfile: \"x<%= ENV['PW'] %>\"\n";
    for value in
        ["a: b", "x\nconcurrency: 99", "\"", "'", "a # b", "- c", "{", "0123", "yes", "~", ":s", "*a"]
    {
        let config = given(file).env(&[("PW", value)]).config();
        assert_eq!(config.redis.password.as_deref(), Some(value));
        assert_eq!(config.concurrency, 10);
        assert!(config.logfile.unwrap().to_str().unwrap().ends_with(&format!("x{value}")));
    }
}

#[test]
fn a_scalar_is_the_text_that_was_written() {
    let config = given("queues: [yes, 0123, 1.50, null_, \":q\"]\nredis: {password: 0777}\n").config();
    assert_eq!(config.queues, ["yes", "0123", "1.50", "null_", ":q"]);
    assert_eq!(config.redis.password.as_deref(), Some("0777"));
}

#[test]
fn conf_08_a_number_in_the_variable_is_a_weight_as_it_is_after_the_flag() {
    for (text, expected) in [
        ("default,3", "default,3"),
        ("default, 3 ,low", "default,3 low"),
        ("low,default,3", "low default,3"),
        ("a,2,a,b,1", "a,3 b"),
        ("v1,2x", "v1 2x"),
    ] {
        let config = without_file().env(&[("COGWORKER_QUEUES", text)]).config();
        let weights: Vec<String> = config.weighted_queues().iter().map(ToString::to_string).collect();
        assert_eq!(weights.join(" "), expected, "{text}");
        let flags: Vec<&str> = expected.split(' ').flat_map(|queue| ["-q", queue]).collect();
        let loaded = cli::load(["worker"].iter().chain(&flags), &Default::default(), Path::new(".")).unwrap();
        assert_eq!(loaded.config.weighted_queues(), config.weighted_queues(), "{text}");
    }
    for (text, found) in [("3", "3"), ("3,default", "3"), ("default,3,4", "4")] {
        assert_eq!(
            without_file().env(&[("COGWORKER_QUEUES", text)]).error(),
            format!("env COGWORKER_QUEUES: queues: expected a queue name before a weight, found {found}")
        );
    }
    assert_eq!(
        without_file().env(&[("COGWORKER_QUEUES", "default,0")]).error(),
        "env COGWORKER_QUEUES: queues: expected a weight from 1 to 1000, found 0"
    );
}

#[test]
fn queues_in_the_file_may_have_weights() {
    let config = given("queues:\n  - [a, 3]\n  - b,2\n  - c\n").config();
    assert_eq!(config.queues, ["a", "a", "a", "b", "b", "c"]);
    let weights: Vec<String> = config.weighted_queues().iter().map(ToString::to_string).collect();
    assert_eq!(weights, ["a,3", "b,2", "c"]);
}

#[test]
fn redis_may_be_a_map() {
    let redis = |text: &str| given(text).config().redis;
    let config = redis(
        ":redis:\n  :host: h\n  :port: 7\n  :username: u\n  :password: p@/:%\n  :db: 2\n  :tls: true\n",
    );
    assert_eq!(config.topology, Topology::Single { host: "h".into(), port: 7 });
    assert_eq!((config.username.as_deref(), config.password.as_deref()), (Some("u"), Some("p@/:%")));
    assert_eq!((config.db, config.tls), (2, true));
    assert_eq!(redis("redis: {url: redis://h/5}").db, 5);
    assert_eq!(
        redis("redis: {path: /run/a b.sock, db: 1}").topology,
        Topology::Unix { path: "/run/a b.sock".into() }
    );
    let config = redis("redis: {sentinels: [a, 'b:1'], service: s&t, sentinel_password: q}");
    assert_eq!(
        config.topology,
        Topology::Sentinel {
            hosts: vec![HostPort::new("a", 26379), HostPort::new("b", 1)],
            service: "s&t".into()
        }
    );
    assert_eq!(config.sentinel_password.as_deref(), Some("q"));
    let config = redis("redis: {cluster: ['a:1', 'b:2'], key_prefix: '{cogworker}', command_timeout: 1.5}");
    assert!(matches!(config.topology, Topology::Cluster { .. }));
    assert_eq!(config.command_timeout, Duration::from_millis(1_500));
    assert_eq!(
        redis("redis: {host: '::1', password: <%= ENV['NONE'] %>}").to_string(),
        "redis://[::1]:6379/0"
    );
}

#[test]
fn redis_url_replaces_the_server_of_the_file_but_not_its_prefix_and_timeouts() {
    let file = "redis:\n  host: h\n  password: p\n  key_prefix: app\n  command_timeout: 2\n";
    let loaded = given(file).env(&[("REDIS_URL", "redis://other/1")]).loaded();
    let redis = loaded.config.redis;
    assert_eq!(redis.to_string(), "redis://other:6379/1");
    assert_eq!((redis.password, redis.key_prefix.as_deref()), (None, Some("app")));
    assert_eq!(redis.command_timeout, Duration::from_secs(2));
    assert_eq!(loaded.sources.get(Key::Redis).to_string(), "env REDIS_URL");
    assert_eq!(loaded.sources.get(Key::RedisKeyPrefix).to_string(), "c.yml:4");
}

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
