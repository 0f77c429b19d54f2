//! Going through sets, and what is listed.

use bytes::Bytes;
use cogworker_core::redis::RedisError;
use cogworker_core::scripts;
use cogworker_core::time::EpochSeconds;

use crate::support::{Outcome, start};

fn names(step: &scripts::WalkStep) -> Vec<(u64, String)> {
    step.found.iter().map(|it| (it.place, String::from_utf8_lossy(&it.entry).into_owned())).collect()
}

#[tokio::test]
async fn walk_set_goes_on_after_an_entry_and_gives_what_holds_the_text() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["ZADD", "set", "1", "a%x", "2", "b", "2.5", "c%x", "3", "d"]);
    let step = scripts::walk_set(&redis, "set".into(), None, "%x").await?;
    assert_eq!((step.total, step.looked_at), (4, 4));
    assert_eq!(names(&step), [(1, "a%x".into()), (3, "c%x".into())], "the text is no pattern");
    let other = step.last_other.ok_or("none")?;
    assert_eq!((other.place, &other.entry[..], other.score.as_f64()), (4, &b"d"[..], 3.0));
    let after = (Bytes::from("b"), EpochSeconds::new(2.0));
    let step = scripts::walk_set(&redis, "set".into(), Some(&after), "").await?;
    assert_eq!(names(&step), [(1, "c%x".into()), (2, "d".into())]);
    assert!(step.last_other.is_none());
    // What vanishes before the place where it goes on changes nothing; when that is gone itself, its score counts.
    server.cli(&["ZREM", "set", "a%x"]);
    assert_eq!(scripts::walk_set(&redis, "set".into(), Some(&after), "").await?.looked_at, 2);
    server.cli(&["ZREM", "set", "b"]);
    server.cli(&["ZADD", "set", "2", "e"]);
    let step = scripts::walk_set(&redis, "set".into(), Some(&after), "").await?;
    assert_eq!(names(&step)[0], (1, "e".into()));
    server.cli(&["ZADD", "set", "0", ""]);
    let empty = (Bytes::new(), EpochSeconds::EPOCH);
    assert_eq!(scripts::walk_set(&redis, "set".into(), Some(&empty), "").await?.looked_at, 3);
    let end = (Bytes::from("d"), EpochSeconds::new(3.0));
    assert_eq!(scripts::walk_set(&redis, "set".into(), Some(&end), "").await?.looked_at, 0);
    assert_eq!(scripts::walk_set(&redis, "none".into(), None, "").await?.total, 0);
    // Infinite scores have their places too.
    server.cli(&["ZADD", "far", "-inf", "a", "-inf", "b", "5", "c", "inf", "d", "inf", "e"]);
    for (gone, from, left) in [(EpochSeconds::FIRST, "a", 5), (EpochSeconds::LAST, "d", 2)] {
        let after = (Bytes::from("gone"), gone);
        let step = scripts::walk_set(&redis, "far".into(), Some(&after), "").await?;
        assert_eq!((names(&step)[0].1.as_str(), step.looked_at), (from, left));
        assert_eq!(step.found[0].score, gone);
    }
    Ok(())
}

#[tokio::test]
async fn walk_set_looks_at_no_more_than_a_call_may_carry_but_at_one_whatever_its_size() -> Outcome {
    let (server, redis) = start().await?;
    let fill = "for n = 1, 700 do redis.call('ZADD', KEYS[1], n, 'entry ' .. n) end";
    server.cli(&["EVAL", fill, "1", "set"]);
    assert_eq!(scripts::walk_set(&redis, "set".into(), None, "nowhere").await?.looked_at, 500);
    let large = "for n = 1, 3 do redis.call('ZADD', KEYS[1], n, string.rep(n, 2000000)) end";
    server.cli(&["EVAL", large, "1", "large"]);
    assert_eq!(scripts::walk_set(&redis, "large".into(), None, "").await?.looked_at, 1);
    Ok(())
}

#[tokio::test]
async fn unlist_queue_forgets_a_queue_without_jobs_and_no_other() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SADD", "cogworker:queues", "q", "other"]);
    server.cli(&["SADD", "cogworker:paused_queues", "q", "other"]);
    server.cli(&["ZADD", "cogworker:live_queues", "1", "q"]);
    server.cli(&["LPUSH", "cogworker:queue:q", "job"]);
    assert!(!scripts::unlist_queue(&redis, "q").await?);
    assert_eq!(server.cli(&["SISMEMBER", "cogworker:queues", "q"]), 1);
    assert_eq!(server.cli(&["SISMEMBER", "cogworker:paused_queues", "q"]), 1);
    server.cli(&["DEL", "cogworker:queue:q"]);
    for repeat in ["first", "again"] {
        assert!(scripts::unlist_queue(&redis, "q").await?, "{repeat}");
        assert_eq!(server.cli(&["SMEMBERS", "cogworker:queues"]).strings(), ["other"]);
        assert_eq!(server.cli(&["SMEMBERS", "cogworker:paused_queues"]).strings(), ["other"]);
        assert_eq!(server.cli(&["EXISTS", "cogworker:live_queues"]), 0);
    }
    server.cli(&["SET", "cogworker:queue:bad", "x"]);
    server.cli(&["SADD", "cogworker:queues", "bad"]);
    assert!(matches!(scripts::unlist_queue(&redis, "bad").await, Err(RedisError::WrongType(_))));
    assert_eq!(server.cli(&["SISMEMBER", "cogworker:queues", "bad"]), 1);
    Ok(())
}

#[tokio::test]
async fn count_recoveries_reads_every_counter_and_takes_what_is_none_for_nothing() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "twice", "2"]);
    server.cli(&["SET", "often", "12"]);
    server.cli(&["SET", "word", "x"]);
    server.cli(&["LPUSH", "list", "3"]);
    let counters: Vec<String> = ["twice", "none", "list", "word", "often"].map(String::from).into();
    assert_eq!(scripts::count_recoveries(&redis, &counters).await?, [2, 0, 0, 0, 12]);
    assert_eq!(scripts::count_recoveries(&redis, &[]).await?, [0; 0]);
    Ok(())
}

#[tokio::test]
async fn list_types_tells_what_each_key_holds() -> Outcome {
    let (server, redis) = start().await?;
    server.cli(&["SET", "s", "x"]);
    server.cli(&["LPUSH", "l", "x"]);
    server.cli(&["ZADD", "z", "1", "x"]);
    let keys: Vec<String> = ["s", "l", "none", "z"].map(String::from).into();
    assert_eq!(scripts::list_types(&redis, &keys).await?, ["string", "list", "none", "zset"]);
    assert_eq!(scripts::list_types(&redis, &[]).await?, [""; 0]);
    Ok(())
}
