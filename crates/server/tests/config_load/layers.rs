//! What is read, from where, and what wins.

use std::path::Path;
use std::time::Duration;

use cogworker_core::redis_config::{HostPort, Topology};
use cogworker_server::cli::{self, Loaded};
use cogworker_server::config::{Key, Source};
use cogworker_server::{Config, FetchMode, LogFormat};

use crate::given::{Given, given, without_file};

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
    for key in Key::ALL.iter().copied() {
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
    for key in Key::ALL.iter().copied().filter(|key| *key != Key::Environment) {
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
