//! Servers of the versions that compatibility tests ask for.

#![cfg(feature = "servers")]

use cogworker_testing::{TestRedisError, TestRedisOptions};

#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "the packages are for Linux on x86-64"
)]
fn each_version_that_compatibility_tests_need_can_be_had() {
    for version in ["6.0", "6.2", "8.2"] {
        let redis = TestRedisOptions::new().version(version).start().unwrap();
        let info = redis.cli(&["INFO", "server"]);
        assert!(info.as_str().unwrap().contains(&format!("redis_version:{version}.")), "{info:?}");
        assert_eq!(redis.replica().unwrap().info("role").unwrap().unwrap(), "slave");
        redis.fill_memory().unwrap();
        assert!(redis.cli(&["SET", "k", "v"]).is_error());
    }
}

#[test]
fn a_version_that_cannot_be_had_is_an_error_which_names_those_that_can() {
    let error = TestRedisOptions::new().version("2.8").start().unwrap_err();
    let TestRedisError::Binary(reason) = error else { panic!("{error}") };
    let message = reason.to_string();
    assert!(message.contains("version 2.8: found ") && message.contains("6.0.9, 6.2.14, 8.2.3"), "{message}");
}
