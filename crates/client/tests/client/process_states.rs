//! Processes as they look from outside.

use std::time::Duration;

use cogworker_core::jid::Jid;

use crate::support::{Outcome, start};

#[tokio::test]
async fn a_process_tells_how_old_its_word_is_and_what_it_runs_webw_08() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SADD", "cogworker:processes", "h:1:a", "h:2:b", "gone"]);
    redis.cli(&[
        "HSET",
        "cogworker:process:h:1:a",
        "info",
        r#"{"concurrency":3}"#,
        "busy",
        "0",
        "quiet",
        "true",
    ]);
    redis.cli(&["EXPIRE", "cogworker:process:h:1:a", "50"]);
    redis.cli(&["HSET", "cogworker:process:h:2:b", "busy", "2"]);
    redis.cli(&["HSET", "cogworker:workers:h:1:a", "s1", "{}", "s2", "{}"]);
    let states = client.process_states().await?;
    assert_eq!(states.len(), 2, "one without presence is no process");
    let (first, second) = (&states[0], &states[1]);
    assert_eq!((first.running, first.process.busy, first.process.quiet), (2, 0, true));
    let heard_of = first.heard_of.unwrap_or_default();
    assert!((Duration::from_secs(10)..Duration::from_secs(12)).contains(&heard_of), "{heard_of:?}");
    assert_eq!((second.running, second.process.busy, second.heard_of), (0, 2, None));
    assert!(client.ping().await? < Duration::from_secs(5));
    Ok(())
}

#[tokio::test]
async fn a_process_of_the_wrong_type_is_left_out() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SADD", "cogworker:processes", "h:1:a"]);
    redis.cli(&["SET", "cogworker:process:h:1:a", "x"]);
    redis.cli(&["SET", "cogworker:workers:h:1:a", "x"]);
    assert!(client.process_states().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn several_statuses_come_in_their_order() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["HSET", "status:b", "status", "working", "pct", "40"]);
    let statuses = client.statuses(&[Jid::from("a"), Jid::from("b")]).await?;
    assert!(statuses[0].is_none());
    assert_eq!(statuses[1].as_ref().and_then(|status| status.pct), Some(40.0));
    assert!(client.statuses(&[""; 0]).await?.is_empty());
    Ok(())
}
