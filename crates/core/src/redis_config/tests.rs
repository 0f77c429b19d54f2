use super::*;
use proptest::prelude::*;

fn parsed(url: &str) -> RedisConfig {
    RedisConfig::new(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn refused(url: &str) -> String {
    RedisConfig::new(url).expect_err(url).to_string()
}

#[test]
fn a_plain_url_names_host_port_and_db() {
    let config = parsed("redis://example.org:7000/3");
    assert_eq!(config.topology, Topology::Single { host: "example.org".into(), port: 7000 });
    assert_eq!((config.db, config.tls, &config.username, &config.password), (3, false, &None, &None));
    assert_eq!(config.command_timeout, Duration::from_secs(5));
}

#[test]
fn what_a_url_leaves_out_is_the_local_server_and_database_0() {
    for url in ["redis://", "redis:///", "redis://localhost", "valkey://127.0.0.1:6379"] {
        let config = parsed(url);
        let Topology::Single { port, .. } = config.topology else { panic!("{url}") };
        assert_eq!((port, config.db), (6379, 0), "{url}");
    }
    assert_eq!(parsed("redis:///2").db, 2);
    assert_eq!(parsed("redis:///?db=4").db, 4);
    assert_eq!(parsed(DEFAULT_URL), RedisConfig::default());
}

#[test]
fn credentials_are_percent_decoded_and_split_at_the_first_colon_and_last_at() {
    let config = parsed("redis://us%40er:p%2Fa:s@s@h");
    assert_eq!(config.username.as_deref(), Some("us@er"));
    assert_eq!(config.password.as_deref(), Some("p/a:s@s"));
    assert_eq!(parsed("redis://:pw@h").username, None);
    assert_eq!(parsed("redis://:pw@h").password.as_deref(), Some("pw"));
}

#[test]
fn tls_is_chosen_by_the_scheme() {
    for url in ["rediss://h", "valkeys://h", "redis-sentinels://h?service=s", "rediss-cluster://h"] {
        assert!(parsed(url).tls, "{url}");
    }
}

#[test]
fn an_ipv6_host_stands_in_brackets() {
    let config = parsed("redis://[::1]:7/1");
    assert_eq!(config.topology, Topology::Single { host: "::1".into(), port: 7 });
    assert_eq!(config.to_string(), "redis://[::1]:7/1");
}

#[test]
fn a_unix_socket_has_a_path_a_db_and_credentials() {
    for url in ["unix:///run/redis.sock?db=2", "redis+unix:///run/redis.sock?db=2"] {
        let config = parsed(url);
        assert_eq!(config.topology, Topology::Unix { path: "/run/redis.sock".into() });
        assert_eq!(config.db, 2);
    }
    assert_eq!(parsed("unix://:pw@/run/a@b.sock").password.as_deref(), Some("pw"));
}

#[test]
fn sentinels_have_several_hosts_a_service_and_their_own_credentials() {
    let config =
        parsed("redis-sentinel://u:p@a:1,b/2?service=main&sentinel_username=su&sentinel_password=s%26p");
    assert_eq!(
        config.topology,
        Topology::Sentinel {
            hosts: vec![HostPort::new("a", 1), HostPort::new("b", DEFAULT_SENTINEL_PORT)],
            service: "main".into(),
        }
    );
    assert_eq!(config.db, 2);
    assert_eq!(config.sentinel_password.as_deref(), Some("s&p"));
    assert_eq!(config.to_string(), "redis-sentinel://u:***@a:1,b:26379/2?service=main");
    let hosts = [HostPort::new("a", 1), HostPort::new("b", DEFAULT_SENTINEL_PORT)];
    let built = RedisConfig::sentinel(hosts, "main").with_username("u").with_password("p").with_db(2);
    assert_eq!(built.with_sentinel_username("su").with_sentinel_password("s&p"), config);
}

#[test]
fn a_cluster_needs_database_0_and_a_hash_tag() {
    let config = parsed("redis-cluster://a:1,b:2");
    assert!(config.validate().is_err());
    assert!(config.clone().with_key_prefix("{}x").validate().is_err());
    assert_eq!(config.with_key_prefix("{cogworker}").validate(), Ok(()));
    assert_eq!(
        refused("redis-cluster://a/1"),
        "redis: db: expected 0, the only database of a cluster, found 1"
    );
}

#[test]
fn each_error_says_part_expected_and_found() {
    assert_eq!(
        refused("http://h"),
        "redis: scheme: expected one of redis://, rediss://, redis+unix://, unix://, redis-sentinel://, \
         redis-cluster:// (or valkey in place of redis), found \"http\""
    );
    assert_eq!(refused("redis://h:0"), "redis: port: expected a number from 1 to 65535, found 0");
    assert_eq!(refused("redis://h:99999"), "redis: port: expected a number from 1 to 65535, found 99999");
    assert_eq!(refused("redis://h/x"), "redis: db: expected a number from 0 to 255, found \"x\"");
    assert_eq!(refused("redis://h?dbs=1"), "redis: query: expected db, found \"dbs\"");
    assert_eq!(
        refused("redis-sentinel://h"),
        "redis: service: expected ?service=NAME, the name of the primary that the sentinels watch, found none"
    );
    assert_eq!(
        refused("unix://run/redis.sock"),
        "redis: path: expected an absolute path after three slashes, as in unix:///run/redis.sock, found a host"
    );
    assert_eq!(
        refused("redis://:50%@h"),
        "redis: password: expected % only before two hexadecimal digits (write % as %25), found another %"
    );
}

#[test]
fn no_form_of_a_config_and_no_error_shows_a_password() {
    let config = parsed("redis-sentinel://u:hunter2@h?service=s&sentinel_password=hunter3");
    let shown = format!("{config} {config:?}");
    assert!(!shown.contains("hunter"), "{shown}");
    for url in [
        "redis://:hunter2/x@h:1/0",
        "redis://:hunter2?x@h:1/0",
        "redis://:hunter2#x@h",
        "redis://h:hunter2",
        "redis://:hunter2%@h",
        "redis://h?Hunter2",
        "hunter2_is_a_long_password_without_scheme",
        "Hunter2,hunter2://h",
    ] {
        let message = refused(url);
        assert!(!message.to_lowercase().contains("hunter"), "{url}: {message}");
    }
}

#[test]
fn the_environment_names_url_prefix_and_timeouts() {
    let var = |name: &str| match name {
        URL_VAR => Some("redis://h/1".into()),
        KEY_PREFIX_VAR => Some("app:".into()),
        CONNECT_TIMEOUT_VAR => Some("0.5".into()),
        COMMAND_TIMEOUT_VAR => Some(OsString::new()),
        _ => None,
    };
    let config = RedisConfig::from_vars(var).unwrap();
    assert_eq!(config.to_string(), "redis://h:6379/1");
    assert_eq!(config.key_prefix.as_deref(), Some("app:"));
    assert_eq!(config.connect_timeout, Duration::from_millis(500));
    assert_eq!(config.command_timeout, DEFAULT_COMMAND_TIMEOUT);
    assert_eq!(RedisConfig::from_vars(|_| None).unwrap(), RedisConfig::default());
}

#[test]
fn an_error_from_the_environment_names_the_variable() {
    let error = |wrong: &'static str, value: &'static str| {
        RedisConfig::from_vars(|name| (name == wrong).then(|| value.into())).unwrap_err().to_string()
    };
    assert_eq!(
        error(URL_VAR, "redis://h/900"),
        "REDIS_URL: db: expected a number from 0 to 255, found \"900\""
    );
    assert_eq!(
        error(COMMAND_TIMEOUT_VAR, "soon"),
        "COGWORKER_REDIS_COMMAND_TIMEOUT: command_timeout: expected a number of seconds, found \"soon\""
    );
}

#[test]
fn a_variable_that_is_nearly_the_one_of_the_address_is_refused() {
    for misnamed in ["COGWORKER_REDIS_URL", "COGWORKER_REDIS"] {
        let of = |value: &str| RedisConfig::from_vars(|name| (name == misnamed).then(|| value.into()));
        assert_eq!(
            of("redis://elsewhere").unwrap_err().to_string(),
            format!("{misnamed}: no such variable; did you mean REDIS_URL?")
        );
        assert_eq!(of("").unwrap(), RedisConfig::default(), "empty is as good as absent");
    }
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    let refuse = |config: RedisConfig| config.validate().unwrap_err().to_string();
    assert_eq!(
        refuse(RedisConfig::unix("/s").with_tls(true)),
        "redis: tls: expected no TLS on a unix socket, found TLS switched on"
    );
    assert_eq!(
        refuse(RedisConfig::default().with_command_timeout(Duration::ZERO)),
        "redis: command_timeout: expected more than 0 and at most 600 seconds, found 0"
    );
    assert_eq!(
        refuse(RedisConfig::single("", 1)),
        "redis: host: expected a host name or address, found nothing"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in any::<String>(), tail in "[a-z0-9:/@?&=%,#\\[\\]]{0,40}") {
        let _ = RedisConfig::new(&text);
        let _ = RedisConfig::new(&format!("redis://{tail}"));
        let _ = RedisConfig::new(&format!("redis-sentinel://{tail}?service=s"));
    }

    #[test]
    fn a_password_of_any_text_is_read_back_from_its_encoded_form(password in "\\PC{1,20}") {
        let encoded: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let config = parsed(&format!("redis://:{encoded}@h"));
        prop_assert_eq!(config.password, Some(password));
    }
}
