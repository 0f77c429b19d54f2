//! Configurations made in code.

use std::time::Duration;

use cogworker_core::redis_config::RedisConfig;
use cogworker_server::config::WeightedQueue;
use cogworker_server::{Config, ConfigBuilder, FetchMode};
use proptest::prelude::*;

#[test]
fn a_value_outside_its_bounds_is_refused_at_build() {
    let queue_name =
        "a queue name of 1 to 255 bytes without commas, control characters or spaces at its ends";
    let new = Config::builder;
    let cases: Vec<(ConfigBuilder, String)> = vec![
        (new().concurrency(0), "concurrency: expected a whole number from 1 to 65536, found 0".into()),
        (
            new().concurrency(65_537),
            "concurrency: expected a whole number from 1 to 65536, found 65537".into(),
        ),
        (new().queues([""]), format!("queues: expected {queue_name}, found an empty name")),
        (new().queues(["a,b"]), format!("queues: expected {queue_name}, found \"a,b\"")),
        (new().queues(["a\n"]), format!("queues: expected {queue_name}, found \"a\\n\"")),
        (new().queues(["a".repeat(256)]), format!("queues: expected {queue_name}, found 256 bytes")),
        (new().queues([""; 0]), "queues: expected at least one queue, found none".into()),
        (new().queue("a", 0), "queues: expected a weight from 1 to 1000, found 0".into()),
        (new().queue("a", 1_001), "queues: expected a weight from 1 to 1000, found 1001".into()),
        (
            (0..11).fold(new(), |builder, _| builder.queue("a", 1_000)),
            "queues: expected at most 10000 queues, weights counted, found 11000".into(),
        ),
        (
            new().fetch_idle_max_interval(Duration::ZERO),
            "fetch_idle_max_interval: expected seconds from 0.001 to 3600, found 0".into(),
        ),
        (
            new().orphan_threshold(Duration::ZERO),
            "orphan_threshold: expected seconds from 0.001 to 2592000, found 0".into(),
        ),
        (
            new().max_orphanings(0),
            "max_orphanings: expected a whole number from 1 to 1000000, found 0".into(),
        ),
        (
            new().unique_lock_ttl(Duration::from_millis(10)),
            "unique_lock_ttl: expected seconds from 1 to 316224000, found 0.01".into(),
        ),
        (
            new().shutdown_timeout(Duration::MAX),
            "shutdown_timeout: expected seconds from 0 to 86400, found 18446744073709552000".into(),
        ),
        (
            new().environment(""),
            "environment: expected a name of 1 to 64 printable characters without spaces, found \"\"".into(),
        ),
        (
            new().redis(RedisConfig::single("", 1)),
            "redis: host: expected a host name or address, found nothing".into(),
        ),
    ];
    for (builder, expected) in cases {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    }
}

#[test]
fn queues_are_repeated_by_their_weight_in_the_order_given() {
    let config = Config::builder().queue("b", 2).queue("a", 1).queue("b", 1).build().unwrap();
    assert_eq!(config.queues, ["b", "b", "a", "b"]);
    let weights: Vec<(String, u32)> =
        config.weighted_queues().into_iter().map(|queue| (queue.name, queue.weight)).collect();
    assert_eq!(weights, [("b".to_owned(), 3), ("a".to_owned(), 1)]);
}

#[test]
fn mode_01_an_unknown_mode_is_refused_with_the_list_of_modes() {
    assert_eq!("basic".parse(), Ok(FetchMode::Basic));
    assert_eq!("reliable".parse(), Ok(FetchMode::Reliable));
    let error = "safe".parse::<FetchMode>().unwrap_err();
    assert_eq!(error.to_string(), "expected reliable or basic, found \"safe\"");
}

proptest! {
    #[test]
    fn a_weighted_queue_is_read_back_from_what_it_prints(name in "[^,\\pC\\s]{1,60}", weight in 1u32..=1_000) {
        let queue = WeightedQueue { name, weight };
        prop_assert_eq!(queue.to_string().parse::<WeightedQueue>(), Ok(queue));
    }

    #[test]
    fn any_text_is_read_as_a_queue_or_refused_without_a_panic(text in any::<String>()) {
        if let Ok(queue) = text.parse::<WeightedQueue>() {
            prop_assert!(queue.weight >= 1);
            prop_assert!(Config::builder().queue(queue.name, queue.weight).build().is_ok());
        }
    }
}
