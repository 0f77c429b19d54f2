//! Going through a set by steps: what matches is listed, deleted, put back; the rest stays.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use cogworker_client::{ClearedSlice, EntryFilter, JobSet, SearchOrder};
use cogworker_core::redis::RedisError;
use cogworker_core::time::EpochSeconds;
use cogworker_testing::TestRedis;

use crate::support::{Outcome, queue, start};

/// `count` dead jobs of the classes A and B in turn, all of one score with `ties`.
fn fill(redis: &TestRedis, key: &str, count: u32, ties: bool) {
    let script = r#"for n = 1, tonumber(ARGV[1]) do
        local class = n % 2 == 0 and 'A' or 'B'
        local job = string.format('{"class":"%s","jid":"j%d","queue":"q","args":[%d]}', class, n, n)
        redis.call('ZADD', KEYS[1], ARGV[2] == '1' and 7 or n, job)
      end"#;
    redis.cli(&["EVAL", script, "1", key, &count.to_string(), if ties { "1" } else { "0" }]);
}

async fn classes(set: &JobSet) -> Result<Vec<(String, u64)>, RedisError> {
    let mut counts = Vec::new();
    for class in ["A", "B"] {
        let mut walk = set.walk(EntryFilter::new().class(class));
        let mut count = 0;
        while let Some(entries) = walk.next().await? {
            count += entries.len() as u64;
        }
        counts.push((class.to_owned(), count));
    }
    Ok(counts)
}

#[tokio::test]
async fn a_walk_deletes_what_matches_and_nothing_else_also_among_equal_scores() -> Outcome {
    for ties in [false, true] {
        let (redis, client) = start().await?;
        fill(&redis, "cogworker:dead", 2501, ties);
        redis.cli(&["ZADD", "cogworker:dead", "7", "no job", "7", "[1]"]);
        let dead = client.dead();
        assert_eq!(classes(&dead).await?, [("A".into(), 1250), ("B".into(), 1251)]);
        let (mut walk, mut deleted, mut steps) = (dead.walk(EntryFilter::new().class("A")), 0, 0);
        while let Some(some) = walk.delete_next().await? {
            (deleted, steps) = (deleted + some, steps + 1);
        }
        assert_eq!((deleted, walk.total(), walk.looked_at(), steps), (1250, 2503, 2503, 6), "ties: {ties}");
        assert_eq!(classes(&dead).await?, [("A".into(), 0), ("B".into(), 1251)]);
        let (mut walk, mut damaged) = (dead.walk(EntryFilter::new().damaged()), 0);
        while let Some(some) = walk.delete_next().await? {
            damaged += some;
        }
        assert_eq!(damaged, 2);
        assert_eq!(dead.size().await?, 1251);
    }
    Ok(())
}

#[tokio::test]
async fn a_walk_misses_nothing_that_stays_while_others_take_entries_away() -> Outcome {
    let (redis, client) = start().await?;
    fill(&redis, "cogworker:retry", 1500, false);
    let mut walk = client.retries().walk(EntryFilter::new());
    let first = walk.next().await?.ok_or("nothing")?;
    assert_eq!(first.len(), 500);
    // The poller takes what is due, some of it not seen yet.
    redis.cli(&["ZREMRANGEBYSCORE", "cogworker:retry", "1", "700"]);
    let mut seen: Vec<f64> = Vec::new();
    while let Some(entries) = walk.next().await? {
        seen.extend(entries.iter().map(|entry| entry.score.as_f64()));
    }
    assert_eq!(seen, (701..=1500).map(f64::from).collect::<Vec<_>>());
    Ok(())
}

#[tokio::test]
async fn a_walk_puts_back_what_it_can_the_longest_dead_first_and_tells_of_the_rest() -> Outcome {
    let (redis, client) = start().await?;
    fill(&redis, "cogworker:dead", 1200, false);
    redis.cli(&["ZADD", "cogworker:dead", "0", "no job", "0.5", r#"{"class":"A","queue":"bad"}"#]);
    redis.cli(&["SET", "cogworker:queue:bad", "x"]);
    let (mut walk, mut requeued, mut left, mut errors) = (client.dead().walk(EntryFilter::new()), 0, 0, 0);
    while let Some(all) = walk.requeue_next().await? {
        requeued += all.requeued;
        left += all.left;
        errors += u32::from(all.error.is_some());
    }
    assert_eq!((requeued, left, errors), (1200, 2, 1));
    assert_eq!(client.dead().size().await?, 2);
    let waiting = queue(&redis, "q");
    assert!(waiting[1199].contains(r#""jid":"j1""#) && waiting[0].contains(r#""jid":"j1200""#));
    Ok(())
}

#[tokio::test]
async fn a_walk_does_not_meet_for_ever_what_comes_back() -> Outcome {
    let (redis, client) = start().await?;
    fill(&redis, "cogworker:retry", 600, false);
    let mut walk = client.retries().walk(EntryFilter::new());
    let mut steps = 0;
    while walk.requeue_next().await?.is_some() {
        steps += 1;
        fill(&redis, "cogworker:retry", 600, false);
    }
    assert_eq!((steps, walk.looked_at()), (2, 600));
    Ok(())
}

#[tokio::test]
async fn a_walk_over_a_key_of_the_wrong_type_is_an_error() -> Outcome {
    let (redis, client) = start().await?;
    redis.cli(&["SET", "cogworker:dead", "x"]);
    let mut walk = client.dead().walk(EntryFilter::new().older_than(Duration::from_secs(1)));
    assert!(matches!(walk.next().await, Err(RedisError::WrongType(_))));
    assert_eq!((walk.total(), walk.looked_at()), (0, 0));
    Ok(())
}

#[tokio::test]
async fn a_queue_is_emptied_in_slices_and_then_forgotten() -> Outcome {
    let (redis, client) = start().await?;
    let q = client.queue("a:b ü");
    assert!(!q.exists().await?);
    for number in 0..700 {
        redis.cli(&["LPUSH", "cogworker:queue:a:b ü", &number.to_string()]);
    }
    assert!(q.exists().await?, "not listed, but there");
    redis.cli(&["SADD", "cogworker:queues", "a:b ü"]);
    assert!(!q.unlist().await?);
    let slice = |cleared: ClearedSlice| (cleared.found, cleared.deleted);
    assert_eq!(slice(q.clear_slice(3).await?), (3, 3));
    assert_eq!(q.page(0, 1).await?.entries, [Bytes::from("3")]);
    assert_eq!(slice(q.clear_slice(u64::MAX).await?), (500, 500));
    assert_eq!(slice(q.clear_slice(u64::MAX).await?), (197, 197));
    assert_eq!(slice(q.clear_slice(1).await?), (0, 0));
    assert!(q.exists().await?, "listed");
    assert!(q.unlist().await?);
    assert!(!q.exists().await?);
    Ok(())
}

#[tokio::test]
async fn a_walk_kills_and_reschedules_what_matches_also_where_it_comes_by_the_new_time() -> Outcome {
    for ties in [false, true] {
        let (redis, client) = start().await?;
        fill(&redis, "cogworker:schedule", 2501, ties);
        // Before all others, among them, and behind them.
        for at in [-5.0, 1000.5, 9_000_000.0] {
            let at = EpochSeconds::new(at);
            let mut walk = client.schedule().walk(EntryFilter::new().class("A"));
            let mut count = 0;
            while let Some(rescheduled) = walk.reschedule_next(at).await? {
                count += rescheduled;
            }
            assert_eq!(count, 1250, "ties {ties}, to {at}");
            let there = redis.cli(&["ZCOUNT", "cogworker:schedule", &at.to_string(), &at.to_string()]);
            assert_eq!(there, 1250);
        }
        // As the system's clock tells it.
        let (at, mut count) = (UNIX_EPOCH + Duration::from_secs(500), 0);
        let mut walk = client.schedule().walk(EntryFilter::new().class("A"));
        while let Some(rescheduled) = walk.reschedule_next(at).await? {
            count += rescheduled;
        }
        assert_eq!(count, 1250);
        assert_eq!(redis.cli(&["ZCOUNT", "cogworker:schedule", "500", "500"]), 1250);
        let mut walk = client.schedule().walk(EntryFilter::new().class("A"));
        let mut killed = 0;
        while let Some(step) = walk.kill_next().await? {
            assert!(step.left == 0 && step.error.is_none());
            killed += step.killed;
        }
        assert_eq!(
            (killed, client.schedule().size().await?, client.dead().size().await?),
            (1250, 1251, 1250)
        );
        assert_eq!(classes(&client.dead()).await?, [("A".into(), 1250), ("B".into(), 0)]);
    }
    Ok(())
}

#[tokio::test]
async fn what_dead_refuses_is_counted_and_stays_and_the_walk_comes_to_its_end() -> Outcome {
    let (redis, client) = start().await?;
    fill(&redis, "cogworker:retry", 700, false);
    redis.cli(&["SET", "cogworker:dead", "no set"]);
    let mut walk = client.retries().walk(EntryFilter::new().class("A"));
    let mut left = 0;
    while let Some(step) = walk.kill_next().await? {
        let error = step.error.ok_or("no error")?.to_string();
        assert!(step.killed == 0 && error.contains("WRONGTYPE"), "{error}");
        left += step.left;
    }
    assert_eq!((left, client.retries().size().await?), (350, 700));
    Ok(())
}

#[tokio::test]
async fn a_walk_through_a_queue_deletes_what_matches_while_jobs_are_taken_and_pushed() -> Outcome {
    let (redis, client) = start().await?;
    let push = r#"for n = 1, tonumber(ARGV[1]) do
        local class = n % 2 == 0 and 'A' or 'B'
        redis.call('LPUSH', KEYS[1], string.format('{"class":"%s","jid":"j%d","queue":"q","args":[%d]}', class, n, n))
      end"#;
    redis.cli(&["EVAL", push, "1", "cogworker:queue:q", "3000"]);
    let large = format!(r#"{{"class":"A","jid":"large","args":["{}"]}}"#, "x".repeat(900_000));
    for _ in 0..2 {
        redis.cli(&["LPUSH", "cogworker:queue:q", &large.replace("\"A\"", "\"B\"")]);
    }
    redis.cli(&["LPUSH", "cogworker:queue:q", &large]);
    let mut walk = client.queue("q").walk(EntryFilter::new().class("A"));
    let (mut deleted, mut steps) = (0, 0);
    while let Some(count) = walk.delete_next().await? {
        (deleted, steps) = (deleted + count, steps + 1);
        assert!(steps < 100, "it comes to an end");
        // Those that stay are taken meanwhile, and others come.
        if steps % 2 == 1 {
            redis.cli(&["RPOP", "cogworker:queue:q", "7"]);
            redis.cli(&["LPUSH", "cogworker:queue:q", r#"{"class":"A","jid":"new","args":[]}"#]);
        }
    }
    assert_eq!(walk.total(), 3003);
    let (queue, filter) = (client.queue("q"), EntryFilter::new().class("A"));
    let left = queue.search(&filter, SearchOrder::NextFirst, 0, 9999).await?;
    assert!(
        left.found.iter().all(|it| it.raw.windows(5).any(|part| part == b"\"new\"")),
        "none that was there"
    );
    assert!(deleted > 1400, "{deleted}");
    Ok(())
}

#[tokio::test]
async fn two_entries_of_one_jid_are_told_apart_by_their_references_p_23() -> Outcome {
    let (redis, client) = start().await?;
    let twins = [r#"{"class":"A","jid":"1","args":[1]}"#, r#"{"class":"A","jid":"1","args":[2]}"#];
    redis.cli(&["ZADD", "cogworker:retry", "7.5", twins[0], "7.5", twins[1]]);
    for twin in twins {
        redis.cli(&["LPUSH", "cogworker:queue:q", twin]);
    }
    let all = EntryFilter::new();
    for order in [SearchOrder::NextFirst, SearchOrder::LastFirst] {
        let found = client.retries().search(&all, order, 0, 10).await?.found;
        assert_eq!(found.len(), 2);
        for it in found {
            let entry = it.entry.to_string().parse()?;
            let again = client.retries().find(&entry).await?.ok_or("gone")?;
            assert_eq!((&again.raw, Some(again.score)), (&it.raw, it.score));
            assert!(client.dead().find(&entry).await?.is_none());
        }
        for it in client.queue("q").search(&all, order, 0, 10).await?.found {
            assert_eq!(client.queue("q").find(&it.entry).await?, Some(it.raw));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_walk_goes_on_where_another_one_was_also_among_equal_scores() -> Outcome {
    for ties in [false, true] {
        let (redis, client) = start().await?;
        fill(&redis, "cogworker:dead", 2501, ties);
        let dead = client.dead();
        let filter = || EntryFilter::new().class("A");
        let (mut deleted, mut walks) = (0, 0);
        let mut position = dead.walk(filter()).position();
        loop {
            let mut walk = dead.walk(filter());
            walk.go_on_from(&position.to_string().parse()?).await?;
            let Some(some) = walk.delete_next().await? else { break };
            (deleted, walks) = (deleted + some, walks + 1);
            assert!(walks < 10, "ties: {ties}: it begins anew");
            position = walk.position();
        }
        assert_eq!((deleted, walks), (1250, 6), "ties: {ties}");
        // What stood there is gone: it goes on with the next of its score.
        redis.cli(&["ZREMRANGEBYRANK", "cogworker:dead", "-1", "-1"]);
        redis.cli(&["ZADD", "cogworker:dead", "9000", r#"{"class":"A","jid":"late","queue":"q","args":[]}"#]);
        let mut walk = dead.walk(filter());
        walk.go_on_from(&position).await?;
        let mut late = 0;
        while let Some(some) = walk.delete_next().await? {
            late += some;
        }
        assert_eq!(late, 1, "ties: {ties}");
    }
    Ok(())
}

#[tokio::test]
async fn a_walk_through_a_queue_goes_on_where_another_one_was_though_jobs_were_taken() -> Outcome {
    let (redis, client) = start().await?;
    let script = r#"for n = 1, 2000 do
        redis.call('LPUSH', KEYS[1], string.format('{"class":"%s","jid":"j%d","queue":"q","args":[%d]}', n % 4 == 0 and 'A' or 'B', n, n))
      end"#;
    redis.cli(&["EVAL", script, "1", "cogworker:queue:q"]);
    let queue = client.queue("q");
    let filter = || EntryFilter::new().class("A");
    let (mut deleted, mut walks) = (0, 0);
    let mut position = queue.walk(filter()).position();
    loop {
        let mut walk = queue.walk(filter());
        walk.go_on_from(&position.to_string().parse()?).await?;
        let Some(some) = walk.delete_next().await? else { break };
        (deleted, walks) = (deleted + some, walks + 1);
        assert!(walks < 10, "it begins anew");
        position = walk.position();
        redis.cli(&["RPOP", "cogworker:queue:q", "20"]);
    }
    assert_eq!(deleted, 500, "of those in front only others were left to be taken");
    assert_eq!(queue.search(&filter(), SearchOrder::NextFirst, 0, 3000).await?.found.len(), 0);
    Ok(())
}
